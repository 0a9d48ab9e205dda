/* SPDX-License-Identifier: Apache-2.0 */
/* Finding all files of one run; see find.h. */
#include "find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "find_private.h"

struct candidate {
    char *path;
    bool is_trace; /* its header could be read */
    struct st_trace_header header;
    struct timespec changed;
    bool exists;
    dev_t device;
    ino_t inode;
};
struct candidates {
    struct candidate *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

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
    file->is_trace = st_find_header(path, &file->header, &file->changed);
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

/* Later first, so that of two copies the one written to last is taken. */
static int by_change(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (st_find_is_later(a->changed, b->changed) != st_find_is_later(b->changed, a->changed)) {
        return st_find_is_later(a->changed, b->changed) ? -1 : 1;
    }
    return by_path(left, right);
}

/* All of a folder's newest run: that of the trace which was written to last. */
static void add_folder(struct candidates *files, const char *folder, struct st_run_lines *left_out)
{
    size_t first = files->count, kept = first;
    DIR *open_folder = opendir(folder);
    const struct dirent *entry;
    while (open_folder && (entry = readdir(open_folder))) {
        char path[PATH_MAX];
        if (st_find_path(folder, entry->d_name, path) < 0) {
            continue;
        }
        add(files, path);
        if (files->count > first && !files->items[files->count - 1].is_trace) {
            free(files->items[--files->count].path);
        }
    }
    if (open_folder) {
        closedir(open_folder);
    }
    if (files->count - first > 1) {
        qsort(files->items + first, files->count - first, sizeof(*files->items), by_change);
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

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

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

/* An earlier file of the same process run, or NULL. */
static const struct candidate *find_twin(const struct candidates *files, size_t at)
{
    const struct candidate *file = &files->items[at];
    for (size_t i = 0; i < at; i++) {
        const struct candidate *other = &files->items[i];
        bool is_copy = file->is_trace && other->is_trace &&
                       memcmp(file->header.session, other->header.session, sizeof(file->header.session)) == 0;
        if (is_copy || is_same_file(file, other)) {
            return other;
        }
    }
    return NULL;
}

/* Take the paths over; of files that hold the same process the first, which is said unless it is the very same file. */
static bool take(const struct candidates *files, struct st_run_files *ret)
{
    bool good = true;
    for (size_t i = 0; good && i < files->count; i++) {
        const struct candidate *file = &files->items[i], *twin = find_twin(files, i);
        char *line = NULL;
        if (!twin) {
            good = keep(&ret->paths, strdup(file->path));
        } else if (!is_same_file(file, twin)) {
            good = asprintf(&line, "%s: the same process as %s: counted once", file->path, twin->path) >= 0 &&
                   keep(&ret->copies, line);
        }
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
    for (size_t i = 0; i < files.count; i++) {
        free(files.items[i].path);
    }
    free(files.items);
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
