/* SPDX-License-Identifier: Apache-2.0 */
/* Names of trace files: patterns, what is there already, folders that can not be written; cutting back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "preload/trace/chunk.h"
#include "preload/writer/sink.h"

static char folder[64];

/* Open with a pattern; returns the base name of what was made, the sink stays open in *sink. */
static const char *make(struct st_sink *sink, const char *pattern)
{
    struct st_sink_request request = {.pattern = pattern, .folder = folder, .program = "gen/erate",
                                      .process_start_ns = UINT64_MAX};
    assert_true(st_sink_open(sink, &request));
    return strrchr(sink->path, '/') + 1;
}

static void write_header(struct st_sink *sink, uint32_t pid, uint64_t start_realtime_ns)
{
    struct st_buffer bytes = {0};
    struct st_trace_header header = {.magic = ST_TRACE_MAGIC, .version_major = 1, .header_bytes = sizeof(header),
                                     .pid = pid, .start_realtime_ns = start_realtime_ns};
    st_header_encode(&header, &bytes);
    assert_true(st_sink_append(sink, bytes.bytes, bytes.length));
    st_buffer_finish(&bytes);
}

static void patterns_are_expanded(void **state)
{
    struct st_sink sink;
    char expected[128];
    snprintf(expected, sizeof(expected), "stagetap-gen_erate-%d.stap", (int)getpid());
    assert_string_equal(make(&sink, NULL), expected);
    st_sink_close(&sink);
    snprintf(expected, sizeof(expected), "a%%b%%z-gen_erate.stap");
    assert_string_equal(make(&sink, "a%%b%z-%e.stap"), expected);
    st_sink_close(&sink);
    mkdir(strcat(strcpy(expected, folder), "/sub"), 0700);
    assert_non_null(strstr((make(&sink, "sub/"), sink.path), "/sub/stagetap-gen_erate-"));
    st_sink_close(&sink);
    assert_non_null(strstr((make(&sink, "sub"), sink.path), "/sub/stagetap-gen_erate-")); /* no slash needed */
    st_sink_close(&sink);
    struct stat status;
    assert_int_equal(stat(sink.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void nothing_is_overwritten(void **state)
{
    struct st_sink first, second, third;
    char expected[64];
    assert_string_equal(make(&first, "fixed.stap"), "fixed.stap");
    write_header(&first, 1, 1);
    snprintf(expected, sizeof(expected), "fixed.stap.%d", (int)getpid()); /* the first is still held */
    assert_string_equal(make(&second, "fixed.stap"), expected);
    st_sink_close(&first);
    st_sink_close(&second);
    assert_string_equal(make(&third, "fixed.stap"), "fixed.stap"); /* the first became .old */
    st_sink_close(&third);
    assert_int_equal(access(strcat(strcpy(expected, folder), "/fixed.stap.old"), F_OK), 0);
    make(&third, "fixed.stap");
    st_sink_close(&third);
    struct stat status;
    assert_int_equal(stat(expected, &status), 0);
    assert_int_equal(status.st_size, 0); /* .old is the run before … */
    assert_int_equal(stat(strcat(expected, ".1"), &status), 0);
    assert_true(status.st_size > 0); /* … and the one before that is kept, too */
    assert_string_equal(make(&first, "p-%p.stap") + strlen("p-"), strrchr(first.path, '/') + 1 + strlen("p-"));
    st_sink_close(&first);
    make(&second, "p-%p.stap");
    assert_string_equal(second.path + strlen(first.path), ".1");
    st_sink_close(&second);
}

/* NAME.old may be somebody's file: it is not touched. */
static void foreign_files_stay(void **state)
{
    char path[128];
    struct st_sink sink;
    FILE *file = fopen(strcat(strcpy(path, folder), "/mine.stap.old"), "w");
    fputs("my notes", file);
    fclose(file);
    make(&sink, "mine.stap");
    write_header(&sink, 1, 1);
    st_sink_close(&sink);
    make(&sink, "mine.stap");
    st_sink_close(&sink);
    char text[16] = "";
    file = fopen(path, "r");
    assert_int_equal(fread(text, 1, 8, file), 8);
    fclose(file);
    assert_string_equal(text, "my notes");
}

static void a_second_image_gets_a_number(void **state)
{
    struct st_sink sink;
    struct st_sink_request request = {.pattern = "exec.stap", .folder = folder, .program = "x",
                                      .process_start_ns = 1000};
    make(&sink, "exec.stap");
    write_header(&sink, (uint32_t)getpid(), 2000);
    st_sink_close(&sink);
    assert_true(st_sink_open(&sink, &request));
    assert_string_equal(strrchr(sink.path, '/'), "/exec.stap.2");
    st_sink_close(&sink);
}

/* A process that is over already, but of the same run, keeps the name. */
static void a_process_of_the_run_is_not_replaced(void **state)
{
    static const uint8_t run[16] = {0}, other_run[16] = {1}; /* write_header() leaves it 0 */
    struct st_sink sink;
    struct st_sink_request request = {.pattern = "run.stap", .folder = folder, .program = "x",
                                      .process_start_ns = UINT64_MAX, .run = run};
    char expected[64];
    make(&sink, "run.stap");
    write_header(&sink, 1, 1);
    st_sink_close(&sink);
    assert_true(st_sink_open(&sink, &request));
    snprintf(expected, sizeof(expected), "/run.stap.%d", (int)getpid());
    assert_string_equal(strrchr(sink.path, '/'), expected);
    st_sink_close(&sink);
    request.run = other_run;
    assert_true(st_sink_open(&sink, &request));
    assert_string_equal(strrchr(sink.path, '/'), "/run.stap");
    st_sink_close(&sink);
}

static void an_unwritable_folder_is_replaced(void **state)
{
    struct st_sink sink;
    struct st_sink_request request = {.pattern = "/proc/nope/x.stap", .folder = folder, .program = "x",
                                      .temporary = folder, .process_start_ns = UINT64_MAX};
    assert_true(st_sink_open(&sink, &request));
    assert_true(sink.is_elsewhere);
    assert_memory_equal(sink.path, folder, strlen(folder));
    assert_int_not_equal(sink.last_errno, 0);
    st_sink_close(&sink);
}

/* A write that fails half-way leaves the file as it was before. */
static void failed_frames_are_cut_back(void **state)
{
    struct st_sink sink;
    static char bytes[8192];
    struct rlimit before, small = {.rlim_cur = 10000, .rlim_max = RLIM_INFINITY};
    make(&sink, "full.stap");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    assert_true(st_sink_append(&sink, bytes, sizeof(bytes)));
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_false(st_sink_append(&sink, bytes, sizeof(bytes)));
    setrlimit(RLIMIT_FSIZE, &before);
    struct stat status;
    fstat(sink.fd, &status);
    assert_int_equal(status.st_size, sizeof(bytes));
    assert_true(st_sink_append(&sink, bytes, 10)); /* and goes on when there is room again */
    st_sink_close(&sink);
}

/* The target closed all descriptors and got the number for a file of its own: that one is not touched. */
static void a_reused_descriptor_is_not_written(void **state)
{
    struct st_sink sink;
    char path[128];
    make(&sink, "reused.stap");
    assert_true(st_sink_append(&sink, "first", 5));
    int number = sink.fd;
    FILE *theirs = fopen(strcat(strcpy(path, folder), "/theirs"), "w+");
    assert_int_equal(dup2(fileno(theirs), number), number);
    assert_true(st_sink_append(&sink, "second", 6));
    fseek(theirs, 0, SEEK_END);
    assert_int_equal(ftell(theirs), 0);
    struct stat status;
    assert_int_equal(stat(sink.path, &status), 0);
    assert_int_equal(status.st_size, 11);
    close(sink.fd);
    sink.fd = number;
    st_sink_close(&sink); /* theirs stays open */
    assert_int_equal(write(number, "mine", 4), 4);
    close(number);
    fclose(theirs);
    sink.fd = -1;
    unlink(sink.path);
    assert_false(st_sink_append(&sink, "third", 5)); /* gone: said, not made anew */
}

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/stagetap-sink-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[96];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_expanded),
        cmocka_unit_test(nothing_is_overwritten),
        cmocka_unit_test(foreign_files_stay),
        cmocka_unit_test(a_second_image_gets_a_number),
        cmocka_unit_test(a_process_of_the_run_is_not_replaced),
        cmocka_unit_test(an_unwritable_folder_is_replaced),
        cmocka_unit_test(failed_frames_are_cut_back),
        cmocka_unit_test(a_reused_descriptor_is_not_written),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
