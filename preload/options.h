/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings in force in this process: read once from the environment that the constructor got, before
 * libc is initialised. A bad value is replaced by its default and noted; the notes are said on stderr only
 * when the process turns out to use CUDA, so that `ls` under the same environment stays silent.
 */
#ifndef ST_PRELOAD_OPTIONS_H
#define ST_PRELOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/map.h"
#include "config/settings.h"
#include "preload/stages/python.h"

enum st_mode { ST_MODE_TRACE, ST_MODE_BASELINE, ST_MODE_DIAGNOSE, ST_MODE_OFF };
enum st_device_choice {
    ST_DEVICE_CHOICE_AUTO,
    ST_DEVICE_CHOICE_CUPTI,
    ST_DEVICE_CHOICE_EVENT,
    ST_DEVICE_CHOICE_NONE
};
enum st_log_level { ST_LOG_QUIET, ST_LOG_WARN, ST_LOG_DEBUG };

#define ST_MAX_OPTION_NOTES 16

struct st_options {
    const char *values[ST_SETTING_COUNT]; /* as set and well-formed, else NULL */
    enum st_mode mode;
    enum st_device_choice device;
    uint64_t limit_bytes;   /* 0 = default */
    uint64_t flush_ns;
    uint64_t buffer_slots;  /* a power of two */
    enum st_python_choice py;
    bool waits_on_full;
    enum st_log_level log_level;
    const char *log_path;   /* NULL = stderr */
    bool has_stderr;        /* at the start; else 2 becomes one of the program's own files */
    char **environment; /* as the process got it: libc's own may change under another thread */
    const char *inherited_run; /* STAGETAP_INTERNAL_RUN: 32 hex digits, or NULL */
    const char *inherited_tee; /* ST_TEE_VARIABLE, or NULL */

    struct st_map map;      /* rules in force; empty if there is none */
    const char *map_origin; /* presets, paths or "inline"; "" if there is no map */
    bool map_is_automatic;  /* none was set, and no preset is for this program: presets may be recognised */
    char map_why[160];      /* why it is this one */
    char map_checked[512];  /* what its presets were checked against (struct st_preset) */
    char notes[ST_MAX_OPTION_NOTES][256]; /* what was refused and why, for the trace */
    int note_count;
};
extern struct st_options st_options;

/* Read `envp`; `program` (argv[0], may be NULL) chooses the preset when no map is set. Constructor only. */
void st_options_read(char **envp, const char *program);

/* A variable of the environment that the process started with, or NULL. Any thread. */
const char *st_options_environment(const char *name);

/* One line "stagetap: …" on stderr or in the log file, if the level allows. No stdio, no malloc. */
void st_log(enum st_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
