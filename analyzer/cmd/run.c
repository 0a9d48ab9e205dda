/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap run`: LD_PRELOAD with words. Sets the variables that the options name, refuses mistakes before
 * the target starts, stands in for the target while it runs and says where the trace is. Main thread.
 */
#include <argp.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "analyzer/cmd/aftermath.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/found.h"
#include "analyzer/cmd/launch.h"
#include "analyzer/cmd/library.h"
#include "analyzer/cmd/map_load.h"
#include "analyzer/cmd/refuse.h"
#include "analyzer/cmd/tee.h"

#define AUDIT_LIBRARY "libstagetap-audit.so" /* beside the library */
#define RUN_VARIABLE "STAGETAP_INTERNAL_RUN" /* 32 hex digits: the run that a trace belongs to */

enum { KEY_EXEC = 0x1000, KEY_PRINT_ENV, KEY_TEE, KEY_SETTING /* + enum st_setting_id */ };

struct run_options {
    bool exec;
    bool print_env;
    bool tee;
    char **command; /* NULL = none given */
};

/* Take one option of the settings table; a bad value ends the program before anything has started. */
static void set_variable(const struct st_setting *setting, const char *value)
{
    char why[ST_WHY_BYTES];

    if (value == NULL) value = "1";
    if (!st_value_is_usable(setting, value, why)) {
        st_say_error("--%s=%s: %s", setting->option, value, why);
        exit(ST_EXIT_RUN_FAILED);
    }
    setenv(setting->variable, value, 1);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct run_options *options = state->input;

    switch (key) {
    case KEY_EXEC:
        options->exec = true;
        return 0;
    case KEY_PRINT_ENV:
        options->print_env = true;
        return 0;
    case KEY_TEE:
        options->tee = true;
        return 0;
    case ARGP_KEY_ARG:
        options->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    }
    for (int i = 0; i < ST_SETTING_COUNT; i++) {
        const struct st_setting *setting = &st_settings[i];

        if (key == KEY_SETTING + i || (setting->letter != 0 && key == setting->letter)) {
            set_variable(setting, argument);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

/* What --help calls the value. */
static const char *argument_name(enum st_setting_kind kind)
{
    static const char *const names[] = {
        [ST_KIND_TEXT] = "NAME",     [ST_KIND_MAP] = "MAP",          [ST_KIND_CHOICE] = "WORD",
        [ST_KIND_CHOICES] = "LIST",  [ST_KIND_SIZE] = "SIZE",        [ST_KIND_DURATION] = "TIME",
        [ST_KIND_WINDOW] = "WINDOW", [ST_KIND_META] = "KEY=VALUE;…", [ST_KIND_ROUNDS] = "RULE",
        [ST_KIND_LOG] = "LEVEL",
    };

    return names[kind];
}

/* What --help says about it: what may be given, what it is else, and what only later versions can do. */
static char *make_doc(const struct st_setting *setting)
{
    char *doc, choices[160];

    st_setting_choices(setting, choices, sizeof(choices));
    return asprintf(&doc, "%s: %s; default: %s", setting->help, choices, setting->default_text) < 0 ? NULL : doc;
}

/* The options of the settings table, and three of our own. NULL = no memory; they live as long as the program. */
static const struct argp_option *make_options(void)
{
    struct argp_option *options = calloc(ST_SETTING_COUNT + 4, sizeof(*options));

    if (options == NULL) return NULL;
    for (int i = 0; i < ST_SETTING_COUNT; i++) {
        const struct st_setting *setting = &st_settings[i];
        char *doc = make_doc(setting);

        if (doc == NULL) return NULL;
        options[i].name = setting->option;
        options[i].key = setting->letter != 0 ? setting->letter : KEY_SETTING + i;
        options[i].arg = argument_name(setting->kind);
        options[i].flags = i == ST_SET_AUDIT ? OPTION_ARG_OPTIONAL : 0;
        options[i].doc = doc;
        options[i].group = 1;
    }
    options[ST_SETTING_COUNT] = (struct argp_option){"exec", KEY_EXEC, NULL, 0, "become CMD; no line at the end", 2};
    options[ST_SETTING_COUNT + 1] =
        (struct argp_option){"print-env", KEY_PRINT_ENV, NULL, 0, "print the export lines for a shell; run nothing", 2};
    options[ST_SETTING_COUNT + 2] = (struct argp_option){
        "tee", KEY_TEE, NULL, 0, "copy what CMD prints, and take the lines for log rules from the copy", 2};
    return options;
}

/* Put the library in front of what the loader's variable (a list, parted by one of `separators`) names already.
 * False: said why. */
static bool put_in_front(const char *variable, const char *separators, const char *library)
{
    const char *old = getenv(variable);
    size_t length = strlen(library);
    char *value;
    bool ok;

    if (strpbrk(library, " :\n") != NULL) {
        st_say_error("%s: the loader cannot preload a path with a blank or colon; install stagetap elsewhere", library);
        return false;
    }
    if (old == NULL || old[0] == '\0') return setenv(variable, library, 1) == 0;
    if (strncmp(old, library, length) == 0 && strchr(separators, old[length]) != NULL) return true;
    if (asprintf(&value, "%s:%s", library, old) < 0) return false;
    ok = setenv(variable, value, 1) == 0;
    free(value);
    return ok;
}

/* Is STAGETAP_AUDIT on, by option or environment? */
static bool wants_audit(void)
{
    const char *value = getenv(st_settings[ST_SET_AUDIT].variable);

    return value != NULL && (strcmp(value, "1") == 0 || strcmp(value, "on") == 0);
}

/* Let the loader load the shim, too. False: said why. */
static bool set_audit(const char *library)
{
    char shim[PATH_MAX + sizeof(AUDIT_LIBRARY)];
    const char *slash = strrchr(library, '/');
    int major = 0, minor = 0;

    if (sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 && major == 2 && minor < 35) {
        st_say_error("--audit needs glibc 2.35 or newer, this is %s", gnu_get_libc_version());
        return false;
    }
    snprintf(shim, sizeof(shim), "%.*s/%s", (int)(slash - library), library, AUDIT_LIBRARY);
    if (access(shim, R_OK) != 0) {
        st_say_error("--audit: %s: %s", shim, strerror(errno));
        return false;
    }
    return put_in_front("LD_AUDIT", ":", shim);
}

/* `text` as a shell reads it: as it is, or in quotes. Caller frees; NULL = no memory. */
static char *quote_for_shell(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    char *quoted, *end;

    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') return strdup(text);
    quoted = malloc(strlen(text) * 4 + 3);
    if (quoted == NULL) return NULL;
    end = quoted;
    *end++ = '\'';
    for (; *text != '\0'; text++) end = *text == '\'' ? stpcpy(end, "'\\''") : stpcpy(end, (char[]){*text, '\0'});
    strcpy(end, "'");
    return quoted;
}

/* export NAME=value, for any POSIX shell. */
static void print_export(const char *name, const char *value)
{
    char *quoted = quote_for_shell(value);

    if (quoted != NULL) printf("export %s=%s\n", name, quoted);
    free(quoted);
}

static void print_environment(void)
{
    print_export("LD_PRELOAD", getenv("LD_PRELOAD"));
    if (wants_audit()) print_export("LD_AUDIT", getenv("LD_AUDIT"));
    for (int i = 0; i < ST_SETTING_COUNT; i++) {
        const char *value = getenv(st_settings[i].variable);
        if (value != NULL) print_export(st_settings[i].variable, value);
    }
}

/* A fresh run id, given to the target and the processes that it starts, as bytes and as text. */
static void set_run_id(uint8_t run[16], char text[33])
{
    if (getrandom(run, 16, 0) != 16) memcpy(run, &(pid_t){getpid()}, sizeof(pid_t));
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", run[i]);
    setenv(RUN_VARIABLE, text, 1);
}

static int cannot_execute(const char *command, int why)
{
    st_say_error("%s: %s", command, strerror(why));
    return why == ENOENT ? ST_EXIT_NOT_FOUND : ST_EXIT_CANNOT_EXECUTE;
}

/* "NAME", or "NAME and 2 more of this run"; and what to give to the commands that read them. Caller frees. */
static void name_traces(const struct st_found *found, char **ret_name, char **ret_word)
{
    char *path = quote_for_shell(found->paths[0]), *slash = strrchr(found->paths[0], '/');

    *ret_name = path;
    *ret_word = path != NULL ? strdup(path) : NULL;
    if (found->count > 1 && path != NULL) { /* a folder is its newest run, with all processes */
        if (asprintf(ret_name, "%s and %zu more of this run", path, found->count - 1) < 0) *ret_name = NULL;
        free(*ret_word);
        free(path);
        if (slash != NULL) slash[slash == found->paths[0]] = '\0';
        *ret_word = quote_for_shell(slash != NULL ? found->paths[0] : ".");
    }
}

/* The one line at the end. */
static void say_where(const uint8_t run[16], const struct st_launch *launch, const char *command,
                      const struct st_aftermath *aftermath)
{
    const char *mode = getenv("STAGETAP_MODE");
    struct st_found found;
    char reason[ST_REASON_BYTES], *name = NULL, *word = NULL;
    bool lacks_work;

    if (mode != NULL && strcmp(mode, "off") == 0) return;
    found = st_found_search(getenv("STAGETAP_OUT"), run, launch->pid);
    if (found.count == 0) {
        st_aftermath_explain(aftermath, command, reason);
        st_say_error("no trace: %s", reason);
        return;
    }
    lacks_work = st_aftermath_lacks_work(found.paths, found.count, reason);
    name_traces(&found, &name, &word);
    if (name != NULL && word != NULL && lacks_work) {
        st_say_error("trace %s · no CUDA work seen%s%s%s · stagetap doctor %s", name, reason[0] != '\0' ? " (" : "",
                     reason, reason[0] != '\0' ? ")" : "", word);
    } else if (name != NULL && word != NULL) {
        st_say_error("trace %s · stagetap report %s", name, word);
    }
    free(name);
    free(word);
    st_found_finish(&found);
}

/* The map whose log rules --tee is for; false: said why. */
static bool load_tee_map(struct st_map *map)
{
    const char *value = getenv(st_settings[ST_SET_MAP].variable);
    char why[ST_WHY_BYTES];
    bool has_log = false;

    if (value != NULL && value[0] != '\0' && !st_map_load(value, map, why, sizeof(why))) {
        st_say_error("%s: %s", st_settings[ST_SET_MAP].variable, why);
        return false;
    }
    for (uint32_t i = 0; i < map->count; i++) has_log = has_log || map->rules[i].source == ST_MAP_LOG;
    if (!has_log) st_say_error("--tee: no log rule in the map; give one with -m, or leave --tee out");
    return has_log;
}

/* Have the output copied. False: said why. */
static bool begin_tee(struct st_map *map, struct st_launch_watch *watch)
{
    char why[ST_WHY_BYTES];

    if (!load_tee_map(map)) return false;
    if (!st_tee_open(map, why, sizeof(why))) {
        st_say_error("--tee: %s", why);
        return false;
    }
    watch->in_child = st_tee_enter_child;
    watch->in_parent = st_tee_let_go;
    return true;
}

static int run_target(char **command, bool tee)
{
    struct st_aftermath aftermath;
    struct st_map map = {0};
    struct st_launch_watch watch = {.look = st_aftermath_look, .context = &aftermath};
    struct st_launch launch;
    uint8_t run[16] = {0};
    char run_text[33];
    int code;

    if (tee && !begin_tee(&map, &watch)) {
        st_map_load_finish(&map);
        return ST_EXIT_RUN_FAILED;
    }
    set_run_id(run, run_text);
    st_aftermath_begin(&aftermath, run_text);
    bool is_run = st_launch_run(command, &watch, &launch);
    if (!is_run) st_say_error("cannot start a process: %s", strerror(errno));
    if (is_run && tee) st_tee_finish();
    if (!is_run) {
        code = ST_EXIT_RUN_FAILED;
    } else if (!launch.started) {
        code = cannot_execute(command[0], launch.exec_errno);
    } else {
        say_where(run, &launch, command[0], &aftermath);
        code = launch.exit_code;
    }
    st_map_load_finish(&map);
    st_aftermath_end(&aftermath);
    return code;
}

static int run(int argc, char **argv)
{
    struct run_options options = {0};
    struct argp argp = {
        make_options(), parse_option, "[--] CMD ARG…",
        "Run CMD with the profiler in front of it.\vEach option sets the variable STAGETAP_… of its "
        "name (-o, --output: STAGETAP_OUT). Exit status: that of CMD, 128+N when signal N ended it, 126 or 127 when it "
        "could not be executed or found, 125 when stagetap itself failed."};
    char library[PATH_MAX], why[ST_WHY_BYTES];

    argp_err_exit_status = ST_EXIT_RUN_FAILED;
    if (argp.options == NULL || argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options) != 0) {
        return ST_EXIT_RUN_FAILED;
    }
    if (options.command == NULL && !options.print_env) {
        st_say_error("run: no command given; stagetap run [OPTION…] [--] CMD ARG…");
        return ST_EXIT_RUN_FAILED;
    }
    if (options.tee && (options.exec || options.print_env)) {
        st_say_error("run: --tee copies while the program runs: not with %s", options.exec ? "--exec" : "--print-env");
        return ST_EXIT_RUN_FAILED;
    }
    if (!st_environment_is_usable(environ, why)) {
        st_say_error("%s", why);
        return ST_EXIT_RUN_FAILED;
    }
    if (!st_library_find(library)) {
        st_say_error("%s: not found beside this program; install both together", ST_LIBRARY);
        return ST_EXIT_RUN_FAILED;
    }
    if (!put_in_front("LD_PRELOAD", " :", library)) return ST_EXIT_RUN_FAILED;
    if (wants_audit() && !set_audit(library)) return ST_EXIT_RUN_FAILED;
    if (options.print_env) {
        print_environment();
        return ST_EXIT_OK;
    }
    if (!options.exec) return run_target(options.command, options.tee);
    fflush(NULL);
    execvp(options.command[0], options.command);
    return cannot_execute(options.command[0], errno);
}

const struct st_command st_command_run = {"run", "[OPTION…] [--] CMD ARG…", "run CMD with the profiler in front of it",
                                          run};
