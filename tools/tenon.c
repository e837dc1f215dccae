/* The `tenon` command: looks up its first argument in the table of commands, and runs that command.
 */
#include "command.h"

#include "platform.h"

#include "runtime/probe/crash_guard.h"

#include <tenon/tenon.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const command *const commands[] = {
    &devices_command, &selftest_command, &check_command, &explain_command,
    &kernels_command, &solvers_command,  &cache_command, &tune_command,
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void print_usage(FILE *out)
{
    fprintf(out, "usage: tenon COMMAND [ARGUMENTS]\n"
                 "       tenon help [COMMAND] | --help | --version\n"
                 "\ncommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

static void print_command_usage(FILE *out, const command *c)
{
    fprintf(out, "usage: tenon %s%s%s\n", c->name, c->arguments[0] != '\0' ? " " : "",
            c->arguments);
}

static void print_command_help(const command *c)
{
    print_command_usage(stdout, c);
    printf("\n%s\n\n%s", c->summary, c->details);
}

int usage_error(const command *c, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "tenon %s: ", c->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    print_command_usage(stderr, c);
    return EXIT_USAGE;
}

int report_failure(const char *what)
{
    fprintf(stderr, "tenon %s: %s\n", what, tenon_last_error());
    return EXIT_FAILED;
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "tenon: unknown command \"%s\"\n", name);
    print_usage(stderr);
    return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc == 1) {
        print_usage(stdout);
        return EXIT_OK;
    }
    const command *c = find_command(argv[1]);
    if (c == NULL || argc > 2)
        return unknown_command(argv[argc > 2 ? 2 : 1]);
    print_command_help(c);
    return EXIT_OK;
}

static int run_command(const command *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_command_help(c);
            return EXIT_OK;
        }
    }
    /* Ctrl-C during a self-check must not count as a crash of the checked solver. */
    platform_end_orderly(tn_crash_guard_withdraw_all);
    return c->run(argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 1) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
        strcmp(argv[0], "-h") == 0)
        return help(argc, argv);
    if (strcmp(argv[0], "--version") == 0) {
        printf("tenon %s\n", tenon_version_string());
        return EXIT_OK;
    }
    const command *c = find_command(argv[0]);
    return c != NULL ? run_command(c, argc, argv) : unknown_command(argv[0]);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc - 1, argv + 1);
    /* A full disk or a closed pipe is reported as a failure. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tenon: cannot write to standard output\n");
        return EXIT_FAILED;
    }
    return status;
}
