/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stagetap: the command table and what is common to all commands – locale, --version, --help, and the check
 * that the answer was really written. What a command does is in cmd/NAME.c.
 */
#include <argp.h>
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/library.h"

const char *argp_program_version = "stagetap " STAGETAP_VERSION;

static const struct st_command *const commands[] = {
    &st_command_run,       &st_command_report, &st_command_gaps,   &st_command_kernels,
    &st_command_transfers, &st_command_syncs,  &st_command_rounds, &st_command_stage,
    &st_command_verify,    &st_command_dump,   &st_command_doctor, &st_command_map,
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct st_command *st_command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

static void print_help(FILE *out)
{
    fputs("Usage: stagetap COMMAND [OPTION…] …\n\n"
          "In which stage does an image generation spend its time, and why?\n\nCommands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  stagetap %-9s %s\n  %18s %s\n", commands[i]->name, commands[i]->synopsis, "",
                commands[i]->doc);
    }
    fputs("\nFILE may be missing (the newest run here), a folder (its newest run), a process id (of a process that\n"
          "runs, or whose trace is here), or a trace that still grows. FILE…: the processes of one run, shown on\n"
          "one time line; a folder is all of its newest run.\n"
          "`stagetap help COMMAND` shows a command's options; `stagetap --version` the version.\n",
          out);
}

/* Output that went nowhere is a failure (full disk, closed pipe), also when a library exits after --help. */
static void check_output(void)
{
    bool failed = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) != 0) failed = true;
    if (fclose(stdout) != 0 && errno != EBADF) failed = true;
    if (failed) {
        st_say_error("standard output: could not be written%s%s", errno != 0 ? ": " : "",
                     errno != 0 ? strerror(errno) : "");
        _exit(ST_EXIT_OUTPUT);
    }
}

/* All output is UTF-8, whatever the locale says: "–", "│" and names must come out the same everywhere. */
static void choose_locale(void)
{
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
}

static int run_command(const struct st_command *command, int argc, char **argv)
{
    char name[64];

    /* `stagetap dump | head` ends as other tools do, whatever our parent ignores; `run` leaves that to its target */
    if (command != &st_command_run) signal(SIGPIPE, SIG_DFL);
    snprintf(name, sizeof(name), "stagetap %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

/* Of the program, and of the library that `run` would take. */
static int print_version(void)
{
    char library[PATH_MAX], version[64] = "unknown";

    puts(argp_program_version);
    if (!st_library_find(library)) {
        st_say_error("%s: not found beside this program; install both together", ST_LIBRARY);
        return ST_EXIT_OK;
    }
    st_library_version(library, version, sizeof(version));
    printf("%s %s (%s)\n", ST_LIBRARY, version, library);
    if (strcmp(version, STAGETAP_VERSION) != 0) {
        st_say_error("program and library are of different versions; install both together");
    }
    return ST_EXIT_OK;
}

static int unknown_command(const char *name)
{
    st_say_error("%s: no such command; the commands are:", name);
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(stderr, " %s", commands[i]->name);
    fputs("\n", stderr);
    return ST_EXIT_USAGE;
}

static int help_command(int argc, char **argv)
{
    char help[] = "--help", *arguments[] = {argv[0], help, NULL};
    const struct st_command *command;

    if (argc < 3) {
        print_help(stdout);
        return ST_EXIT_OK;
    }
    command = st_command_find(argv[2]);
    if (command == NULL) return unknown_command(argv[2]);
    return run_command(command, 2, arguments);
}

int main(int argc, char **argv)
{
    const struct st_command *command;

    choose_locale();
    argp_err_exit_status = ST_EXIT_USAGE;
    atexit(check_output);
    if (argc < 2) {
        print_help(stderr);
        return ST_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return print_version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return ST_EXIT_OK;
    }
    if (strcmp(argv[1], "help") == 0) return help_command(argc, argv);
    command = st_command_find(argv[1]);
    if (command == NULL) return unknown_command(argv[1]);
    return run_command(command, argc - 1, argv + 1);
}
