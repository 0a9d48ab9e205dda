/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program file before it runs: what the loader would do with it, and where a wrapper script may lose LD_PRELOAD. The
 * lines of a script are not interpreted: what looks like it is shown with its number.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

enum { MOST_LINES = 20000 };

bool st_program_find(const char *command, char *ret, size_t size)
{
    const char *path = getenv("PATH");

    if (strchr(command, '/') != NULL || path == NULL) {
        snprintf(ret, size, "%s", command);
        return access(ret, F_OK) == 0;
    }
    for (const char *at = path; *at != '\0'; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");

        snprintf(ret, size, "%.*s/%s", (int)length, at, command);
        if (access(ret, X_OK) == 0) return true;
        at += length;
    }
    return false;
}

/* Is `word` in the line, not as a part of a longer one? */
static bool has_word(const char *line, const char *word)
{
    static const char parts[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    for (const char *at = line; (at = strstr(at, word)) != NULL; at++) {
        char after = at[strlen(word)];

        if ((at == line || strchr(parts, at[-1]) == NULL) && (after == '\0' || strchr(parts, after) == NULL)) {
            return true;
        }
    }
    return false;
}

static void look_at_line(struct st_diagnosis *diagnosis, const char *line, int number)
{
    const char *assignment = strstr(line, "LD_PRELOAD=");

    if (assignment != NULL && strstr(assignment, "$LD_PRELOAD") == NULL && strstr(assignment, "${LD_PRELOAD") == NULL) {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_REPLACED, "line %d: %s", number, line);
    } else if (has_word(line, "env -i") || has_word(line, "sudo") || strstr(line, "unset LD_PRELOAD") != NULL ||
               strstr(line, "-u LD_PRELOAD") != NULL) {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_MISSING, "line %d: %s", number, line);
    }
}

static void look_at_script(struct st_diagnosis *diagnosis, FILE *file)
{
    char line[1024];

    for (int number = 1; number <= MOST_LINES && fgets(line, sizeof(line), file) != NULL; number++) {
        const char *text = line + strspn(line, " \t");

        line[strcspn(line, "\r\n")] = '\0';
        if (number == 1) st_doctor_fact(diagnosis, "script", "%s", line + strlen("#!"));
        if (text[0] != '#') look_at_line(diagnosis, text, number);
    }
}

bool st_doctor_program(struct st_diagnosis *diagnosis, const char *path)
{
    char start[4] = "", seen[ST_SEEN_BYTES];
    enum st_fault fault;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for who writes a FIFO */
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    size_t length = file != NULL ? fread(start, 1, sizeof(start), file) : 0;
    bool is_program = length == sizeof(start) && memcmp(start, "\177ELF", sizeof(start)) == 0;
    bool is_script = length >= 2 && memcmp(start, "#!", 2) == 0;

    if (is_program || is_script) {
        diagnosis->subject = "program";
        st_doctor_fact(diagnosis, "program", "%s", path);
    }
    if (is_script) {
        rewind(file);
        look_at_script(diagnosis, file);
    } else if (is_program && st_program_refuses(path, path, &fault, seen)) {
        st_doctor_find(diagnosis, fault, "%s", seen);
    }
    if (file != NULL) {
        fclose(file);
    } else if (fd >= 0) {
        close(fd);
    }
    return is_program || is_script;
}
