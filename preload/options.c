/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment, and messages; see options.h. */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "config/preset.h"
#include "config/tee.h"
#include "preload/record/files.h"
#include "preload/trace/ring.h"
#include "preload/watch/watch.h"

enum { MAP_BYTES = 256 << 10, MAX_RULES = 512, ARENA_BYTES = 512 << 10 };

struct st_options st_options;

void st_log(enum st_log_level level, const char *format, ...)
{
    if (level > st_options.log_level) {
        return;
    }
    char line[1024] = "stagetap: ";
    size_t length = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
    va_end(arguments);
    length += more < 0 ? 0 : (size_t)more;
    length = length < sizeof(line) - 1 ? length : sizeof(line) - 2;
    line[length++] = '\n';
    int fd = st_options.has_stderr ? 2 : -1;
    if (st_options.log_path) {
        fd = open(st_options.log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (fd >= 0 && write(fd, line, length) < 0) {
        /* nobody to tell */
    }
    if (st_options.log_path && fd >= 0) {
        close(fd);
    }
}

const char *st_options_environment(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = st_options.environment; entry && *entry; entry++) {
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
            return *entry + length + 1;
        }
    }
    return NULL;
}

/* Keep it: said when the process turns out to use CUDA (session start), and written into the trace. */
static void note(const char *format, ...)
{
    char text[sizeof(st_options.notes[0])];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (st_options.note_count < ST_MAX_OPTION_NOTES) {
        strcpy(st_options.notes[st_options.note_count++], text);
    }
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Variables in the environment that are ours, with the values that are well-formed. */
static void collect_values(char **envp)
{
    static const char PREFIX[] = "STAGETAP_", INTERNAL[] = "STAGETAP_INTERNAL_", RUN[] = "STAGETAP_INTERNAL_RUN=",
                      TEE[] = ST_TEE_VARIABLE "=";
    for (char **entry = envp; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals || strncmp(*entry, PREFIX, sizeof(PREFIX) - 1) != 0) {
            continue;
        }
        if (strncmp(*entry, INTERNAL, sizeof(INTERNAL) - 1) == 0) {
            if (strncmp(*entry, RUN, sizeof(RUN) - 1) == 0) {
                st_options.inherited_run = equals + 1;
            } else if (strncmp(*entry, TEE, sizeof(TEE) - 1) == 0) {
                st_options.inherited_tee = equals + 1;
            }
            continue;
        }
        char variable[64];
        snprintf(variable, sizeof(variable), "%.*s", (int)(equals - *entry), *entry);
        const struct st_setting *setting = st_setting_find(variable);
        if (setting && (setting->kind == ST_KIND_TEXT || st_setting_check(setting, equals + 1))) {
            st_options.values[setting - st_settings] = equals[1] ? equals + 1 : NULL;
        } else if (setting && equals[1]) {
            char choices[160];
            st_setting_choices(setting, choices, sizeof(choices));
            st_options.values[setting - st_settings] = NULL;
            note("%s=%.80s: not allowed; allowed: %s; using the default (%s)", variable, equals + 1, choices,
                 setting->default_text);
        } else if (!setting) {
            note("%s: no such setting; see `stagetap run --help` for all", variable);
        }
    }
}

/* Well-formed, but for a later version: the trace must not look as if it had been done. */
static void refuse_later(void)
{
    for (int i = 0; i < ST_SETTING_COUNT; i++) {
        const char **value = &st_options.values[i];
        if (*value && !st_setting_works(&st_settings[i], *value)) {
            note("%s=%.80s: not in this version; using %s", st_settings[i].variable, *value,
                 st_settings[i].default_text);
            *value = NULL;
        }
    }
}

static int choice_of(enum st_setting_id id)
{
    return st_options.values[id] ? st_setting_choice(&st_settings[id], st_options.values[id]) : 0;
}

/* The shim is the loader's to load, before us: all that can be done here is to say that it is missing. */
static void check_audit(void)
{
    static const char *const ON[] = {"1", "on"};
    const char **value = &st_options.values[ST_SET_AUDIT];
    for (size_t i = 0; *value && i < sizeof(ON) / sizeof(ON[0]); i++) {
        if (strcmp(*value, ON[i]) == 0 && !st_watch_is_audited()) {
            note("%s=%s: LD_AUDIT=…/libstagetap-audit.so is not in force (`stagetap run --audit` sets it; glibc 2.35 "
                 "or newer); using off", st_settings[ST_SET_AUDIT].variable, *value);
            *value = NULL;
        }
    }
}

static void read_log_setting(void)
{
    const char *value = st_options.values[ST_SET_LOG];
    st_options.log_level = ST_LOG_WARN;
    if (value) {
        st_options.log_level = value[0] == 'q' ? ST_LOG_QUIET : value[0] == 'd' ? ST_LOG_DEBUG : ST_LOG_WARN;
        const char *equals = strchr(value, '=');
        st_options.log_path = equals ? equals + 1 : NULL;
    }
}

static void read_numbers(void)
{
    uint64_t bytes = 1 << 20;
    if (st_options.values[ST_SET_BUFFER]) {
        st_parse_size(st_options.values[ST_SET_BUFFER], &bytes);
    }
    st_options.buffer_slots = 1;
    while (st_options.buffer_slots * 2 * ST_SLOT_BYTES <= bytes) {
        st_options.buffer_slots *= 2;
    }
    st_options.flush_ns = 1000000000;
    if (st_options.values[ST_SET_FLUSH]) {
        st_parse_duration(st_options.values[ST_SET_FLUSH], &st_options.flush_ns);
    }
    if (st_options.values[ST_SET_LIMIT]) {
        st_parse_size(st_options.values[ST_SET_LIMIT], &st_options.limit_bytes);
    }
}

/* ---- the map ---------------------------------------------------------------------------------- */

/* Room for the rules; the pages are only touched as far as they are used. */
static bool make_map_room(void)
{
    struct st_map *map = &st_options.map;
    size_t rules_bytes = MAX_RULES * sizeof(*map->rules);
    char *room = mmap(NULL, rules_bytes + ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return false;
    }
    *map = (struct st_map){.rules = (void *)room, .capacity = MAX_RULES, .arena = room + rules_bytes,
                           .arena_bytes = ARENA_BYTES};
    return true;
}

static void parse_text(const char *text, size_t length, const char *origin)
{
    struct st_map_error error;
    if (!st_map_parse(&st_options.map, text, length, origin, &error)) {
        note("STAGETAP_MAP: %s, line %d, column %d: %s; going on without these rules", origin, error.line, error.column,
             error.what);
    }
}

static void parse_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO would keep the program from starting */
    if (fd >= 0 && (st_fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
        errno = EINVAL;
    }
    char *text = fd < 0 ? MAP_FAILED
                        : mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t length = 0;
    ssize_t got = -1;
    while (text != MAP_FAILED && length < MAP_BYTES && (got = read(fd, text + length, MAP_BYTES - length)) > 0) {
        length += (size_t)got;
    }
    if (got != 0) {
        note("STAGETAP_MAP: %s: %s; going on without it", path,
             length == MAP_BYTES ? "larger than 256 KiB" : strerror(errno));
    } else {
        parse_text(text, length, path);
    }
    if (text != MAP_FAILED) {
        munmap(text, MAP_BYTES);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void add_checked(const struct st_preset *preset)
{
    size_t used = strlen(st_options.map_checked);
    if (preset->checked[0]) {
        snprintf(st_options.map_checked + used, sizeof(st_options.map_checked) - used, "%s%s", used ? "; " : "",
                 preset->checked);
    }
}

static void parse_preset(const struct st_preset *preset)
{
    struct st_map_error error;
    if (!st_preset_parse(preset, &st_options.map, &error)) {
        note("STAGETAP_MAP: %s: %s; going on without it", preset->name, error.what);
        return;
    }
    add_checked(preset);
    for (const char *const *name = preset->with; *name; name++) {
        add_checked(st_preset_find(*name));
    }
}

static void parse_part(const struct st_map_part *part)
{
    char name[1024];
    if (part->kind == ST_MAP_PART_RULES) {
        parse_text(part->text, part->length, "inline");
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)part->length, part->text);
    const struct st_preset *preset = part->kind == ST_MAP_PART_PRESET ? st_preset_find(name) : NULL;
    if (part->kind == ST_MAP_PART_PATH) {
        parse_file(name);
    } else if (preset) {
        parse_preset(preset);
    } else if (name[0]) {
        note("STAGETAP_MAP=%.80s: no such preset; allowed: %s; going on without it", name,
             st_settings[ST_SET_MAP].allowed);
    }
}

/* No map is set: the program's own preset, else the one for all, which leaves room for presets to be recognised. */
static void choose_map(const char *program)
{
    const char *slash = strrchr(program, '/'), *base = slash ? slash + 1 : program;
    const struct st_preset *preset = st_preset_for_program(base);
    if (preset) {
        snprintf(st_options.map_why, sizeof(st_options.map_why), "program %s", base);
    } else {
        preset = st_preset_find("auto");
        st_options.map_is_automatic = true;
    }
    st_options.map_origin = preset->name;
    parse_preset(preset);
}

static void read_map(const char *program)
{
    const char *value = st_options.values[ST_SET_MAP];
    st_options.map_origin = "";
    if (!make_map_room()) {
        return;
    }
    if (!value || strcmp(value, "auto") == 0) {
        choose_map(program ? program : "");
        return;
    }
    strcpy(st_options.map_why, "as set");
    struct st_map_part part;
    st_options.map_origin = value;
    for (const char *at = value; st_map_next_part(&at, &part);) {
        if (part.kind == ST_MAP_PART_RULES && part.text == value) {
            st_options.map_origin = "inline";
        }
        parse_part(&part);
    }
}

void st_options_read(char **envp, const char *program)
{
    st_options.environment = envp;
    st_options.log_level = ST_LOG_WARN;
    st_options.has_stderr = st_fcntl(2, F_GETFD, 0) >= 0;
    for (char **entry = envp; entry && *entry; entry++) { /* first, so that it holds for messages about the others */
        if (strncmp(*entry, "STAGETAP_LOG=", 13) == 0 && st_setting_check(&st_settings[ST_SET_LOG], *entry + 13)) {
            st_options.values[ST_SET_LOG] = *entry + 13;
            read_log_setting();
        }
    }
    collect_values(envp);
    refuse_later();
    check_audit();
    st_options.mode = (enum st_mode)choice_of(ST_SET_MODE);
    st_options.device = (enum st_device_choice)choice_of(ST_SET_DEVICE);
    st_options.py = (enum st_python_choice)choice_of(ST_SET_PY);
    st_options.waits_on_full = choice_of(ST_SET_ON_FULL) == 1;
    read_numbers();
    if (st_options.mode != ST_MODE_OFF) {
        read_map(program);
    }
}
