/* SPDX-License-Identifier: Apache-2.0 */
/* Finding all files of one run; see find.h. */
#include "find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "find_private.h"
#include "reader.h"

struct candidate {
    char *path;
    bool is_trace;   /* its header could be read */
    const char *why; /* why not; NULL = no regular file */
    struct st_trace_header header;
    struct timespec changed;
    bool is_looked_at; /* the next two are known */
    bool is_whole;
    uint64_t readable_bytes;
    bool exists;
    dev_t device;
    ino_t inode;
};
struct candidates {
    struct candidate *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void free_candidates(struct candidates *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
    }
    free(files->items);
}

static bool is_same_run(const struct candidate *a, const struct candidate *b)
{
    return memcmp(a->header.run, b->header.run, sizeof(a->header.run)) == 0;
}

static bool is_same_boot(const struct candidate *a, const struct candidate *b)
{
    return memcmp(a->header.boot, b->header.boot, sizeof(a->header.boot)) == 0;
}

static void add(struct candidates *files, const char *path)
{
    struct stat info;
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? files->capacity * 2 : 16;
        struct candidate *grown = realloc(files->items, capacity * sizeof(*grown));
        if (!grown) {
            files->failed = true;
            return;
        }
        files->items = grown;
        files->capacity = capacity;
    }
    struct candidate *file = &files->items[files->count];
    *file = (struct candidate){.path = strdup(path)};
    if (!file->path) {
        files->failed = true;
        return;
    }
    files->count++;
    file->is_trace = st_find_header(path, &file->header, &file->changed, &file->why);
    if (stat(path, &info) == 0) {
        file->exists = true;
        file->device = info.st_dev;
        file->inode = info.st_ino;
    }
}

/* Keep a line. False: out of memory. */
static bool keep(struct st_run_lines *lines, char *line)
{
    char **grown = line ? realloc(lines->items, (lines->count + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(line);
        return false;
    }
    lines->items = grown;
    lines->items[lines->count++] = line;
    return true;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct candidate *)left)->path, ((const struct candidate *)right)->path);
}

/* Later first: the first is of the newest run. */
static int by_change(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (st_find_is_later(a->changed, b->changed) != st_find_is_later(b->changed, a->changed)) {
        return st_find_is_later(a->changed, b->changed) ? -1 : 1;
    }
    return by_path(left, right);
}

/* A line for a file of the folder that is named like a trace and cannot be read: whose it is, nobody knows. */
static char *unreadable_line(const struct candidate *file, const struct candidate *newest)
{
    char *line = NULL;
    bool is_newer = newest && st_find_is_later(file->changed, newest->changed);
    if (asprintf(&line, "%s: %s%s", file->path, file->why,
                 is_newer ? "; it is newer than what is shown, which may not be the newest run" : "") < 0) {
        return NULL;
    }
    return line;
}

/* Take those that cannot be read out of [first, end) into `unreadable`. */
static void split_unreadable(struct candidates *files, size_t first, struct candidates *unreadable)
{
    size_t kept = first;
    for (size_t i = first; i < files->count; i++) {
        struct candidate *file = &files->items[i];
        if (file->is_trace) {
            files->items[kept++] = *file;
            continue;
        }
        if (file->why && st_find_is_named_like_a_trace(base_name(file->path))) {
            add(unreadable, file->path);
        }
        free(file->path);
    }
    files->count = kept;
    files->failed = files->failed || unreadable->failed;
}

/* All of a folder's newest run: that of the trace which was written to last. */
static void add_folder(struct candidates *files, const char *folder, struct st_run_lines *left_out)
{
    size_t first = files->count, kept = first;
    struct candidates unreadable = {0};
    DIR *open_folder = opendir(folder);
    const struct dirent *entry;
    while (open_folder && (entry = readdir(open_folder))) {
        char path[PATH_MAX];
        if (st_find_path(folder, entry->d_name, path) >= 0) {
            add(files, path);
        }
    }
    if (open_folder) {
        closedir(open_folder);
    }
    split_unreadable(files, first, &unreadable);
    if (files->count - first > 1) {
        qsort(files->items + first, files->count - first, sizeof(*files->items), by_change);
    }
    if (unreadable.count > 1) {
        qsort(unreadable.items, unreadable.count, sizeof(*unreadable.items), by_path);
    }
    for (size_t i = 0; i < unreadable.count; i++) {
        const struct candidate *newest = files->count > first ? &files->items[first] : NULL;
        files->failed = files->failed || !keep(left_out, unreadable_line(&unreadable.items[i], newest));
    }
    for (size_t i = first; i < files->count; i++) {
        const struct candidate *newest = &files->items[first];
        struct candidate *file = &files->items[i];
        if (is_same_run(file, newest) && is_same_boot(file, newest)) {
            files->items[kept++] = *file;
            continue;
        }
        if (is_same_run(file, newest)) {
            char *line = NULL;
            bool is_told = asprintf(&line,
                                    "%s: of the same run, but of another machine or start of it than %s: their "
                                    "clocks cannot be compared",
                                    file->path, newest->path) >= 0;
            files->failed = files->failed || !keep(left_out, is_told ? line : NULL);
        }
        free(file->path);
    }
    files->count = kept;
    free_candidates(&unreadable);
}

/* What one word means; `alone`: there is no other. */
static enum st_status add_word(struct candidates *files, const char *word, bool alone, struct st_run_files *ret,
                               struct st_err *err)
{
    char path[PATH_MAX];
    struct stat info;
    bool is_guess = true;
    if (!word || (stat(word, &info) == 0 && S_ISDIR(info.st_mode))) {
        size_t before = files->count;
        add_folder(files, word ? word : ".", &ret->left_out);
        ret->guessed = true;
        if (files->count > before || files->failed) {
            return ST_OK;
        }
        if (alone && ret->left_out.count > 0) {
            return st_fail(err, ST_NOT_FOUND, NULL, -1, "record again", "no trace that can be read in %.60s: %.170s%s",
                           word ? word : "the current folder", ret->left_out.items[0],
                           ret->left_out.count > 1 ? " …" : "");
        }
    }
    enum st_status status = st_reader_find(word, path, sizeof(path), &is_guess, err);
    if (status == ST_NOT_FOUND && !alone && word) {
        add(files, word);
        return ST_OK;
    }
    if (status == ST_OK) {
        ret->guessed = ret->guessed || is_guess;
        add(files, path);
    }
    return status;
}

/* ---- is it one run? ---- */

/* "a.stap is of run 1f00aa42, b.stap of run 77c01b9d" */
static enum st_status refuse(const struct candidates *files, const struct candidate *first, struct st_err *err)
{
    char text[sizeof(err->what)] = "";
    size_t used = 0;
    for (size_t i = 0; i < files->count && used < sizeof(text); i++) {
        const struct candidate *file = &files->items[i];
        const uint8_t *run = file->header.run;
        if (file->is_trace) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.80s %sof run %02x%02x%02x%02x",
                                     used ? ", " : "", base_name(file->path), file == first ? "is " : "", run[0],
                                     run[1], run[2], run[3]);
        }
    }
    return st_fail(err, ST_USAGE, NULL, -1, "show the files of one run at a time", "%s", text);
}

static enum st_status check(const struct candidates *files, struct st_err *err)
{
    const struct candidate *first = NULL;
    for (size_t i = 0; i < files->count; i++) {
        const struct candidate *file = &files->items[i];
        if (!file->is_trace) {
            continue;
        }
        first = first ? first : file;
        if (!is_same_run(first, file)) {
            return refuse(files, first, err);
        }
        if (!is_same_boot(first, file)) {
            return st_fail(err, ST_USAGE, NULL, -1, "show each by itself",
                           "%.80s and %.80s are of one run, but not of one machine since its start: their clocks "
                           "cannot be compared",
                           base_name(first->path), base_name(file->path));
        }
    }
    return ST_OK;
}

/* ---- each process once ---- */

static bool is_same_file(const struct candidate *a, const struct candidate *b)
{
    return strcmp(a->path, b->path) == 0 || (a->exists && b->exists && a->device == b->device && a->inode == b->inode);
}

static bool is_same_process(const struct candidate *a, const struct candidate *b)
{
    return a->is_trace && b->is_trace &&
           memcmp(a->header.session, b->header.session, sizeof(a->header.session)) == 0;
}

/* Is the very same file among those before it? */
static bool is_named_before(const struct candidates *files, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (is_same_file(&files->items[i], &files->items[at])) {
            return true;
        }
    }
    return false;
}

static void look_at(struct candidate *file)
{
    struct st_reader_summary summary;
    if (!file->is_looked_at && st_reader_verify(file->path, NULL, &summary, NULL) == ST_OK) {
        file->is_whole = st_reader_is_complete(&summary);
        file->readable_bytes = summary.decoded_bytes;
    }
    file->is_looked_at = true;
}

/* Of the files that hold the process of files[at] the whole one, else the one that holds more, else the first. */
static const struct candidate *best_of(struct candidates *files, size_t at)
{
    struct candidate *best = NULL;
    for (size_t i = 0; i < files->count; i++) {
        struct candidate *file = &files->items[i];
        if (i != at && (!is_same_process(file, &files->items[at]) || is_named_before(files, i))) {
            continue;
        }
        if (best) {
            look_at(best);
            look_at(file);
        }
        bool is_better = !best || (file->is_whole != best->is_whole ? file->is_whole
                                                                    : file->readable_bytes > best->readable_bytes);
        best = is_better ? file : best;
    }
    return best;
}

/* Take the paths over, each process once; what holds it a second time is said unless it is the very same file. */
static bool take(struct candidates *files, struct st_run_files *ret)
{
    bool good = true;
    for (size_t i = 0; good && i < files->count; i++) {
        const struct candidate *file = &files->items[i];
        char *line = NULL;
        if (is_named_before(files, i)) {
            continue;
        }
        const struct candidate *best = best_of(files, i);
        if (best == file) {
            good = keep(&ret->paths, strdup(file->path));
            continue;
        }
        const char *less = file->is_whole == best->is_whole && file->readable_bytes == best->readable_bytes
                               ? ""
                               : file->is_whole != best->is_whole ? ", which is whole" : ", which holds more";
        good = asprintf(&line, "%s: the same process as %s%s: counted once", file->path, best->path, less) >= 0 &&
               keep(&ret->copies, line);
    }
    return good;
}

enum st_status st_reader_find_run(const char *const *words, size_t count, struct st_run_files *ret, struct st_err *err)
{
    struct candidates files = {0};
    enum st_status status = ST_OK;
    *ret = (struct st_run_files){0};
    for (size_t i = 0; status == ST_OK && i < (count ? count : 1); i++) {
        status = add_word(&files, count ? words[i] : NULL, count < 2, ret, err);
    }
    if (status == ST_OK) {
        status = check(&files, err);
    }
    if (status == ST_OK && (files.failed || !take(&files, ret))) {
        status = st_fail(err, ST_NO_MEMORY, NULL, -1, NULL, "out of memory");
    }
    free_candidates(&files);
    if (status != ST_OK) {
        st_run_files_finish(ret);
    }
    return status;
}

bool st_run_files_leave_out(struct st_run_files *files, const struct st_err *err)
{
    char *line = NULL;
    bool is_told = asprintf(&line, "%s: %s", err->file, err->what) >= 0;
    return keep(&files->left_out, is_told ? line : NULL);
}

static void free_lines(struct st_run_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i]);
    }
    free(lines->items);
}

void st_run_files_finish(struct st_run_files *files)
{
    free_lines(&files->paths);
    free_lines(&files->copies);
    free_lines(&files->left_out);
    *files = (struct st_run_files){0};
}
