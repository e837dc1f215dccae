#include "command_line.h"

#include <popt.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 32
#define TEXT_SIZE    8192
#define NAME_SIZE    64
#define HELP         (MOST_OPTIONS + 1) /* popt's value of --help; those of others count from 1 */

static const program *running;

/* What command lines refer to: copies of operands and texts. */
static void **kept;
static size_t kept_count;

/* Keeps memory until the end, or ends the program if there is not enough of it. */
static void *keep(void *memory)
{
    void **more = memory != NULL ? realloc(kept, (kept_count + 1) * sizeof *kept) : NULL;
    if (more == NULL) {
        fprintf(stderr, "%s: out of memory\n", running->name);
        exit(1);
    }
    kept = more;
    kept[kept_count++] = memory;
    return memory;
}

void command_line_end(void)
{
    for (size_t i = 0; i < kept_count; i++)
        free(kept[i]);
    free(kept);
    kept = NULL;
    kept_count = 0;
}

static char *copy_of(const char *text)
{
    char *copy = keep(malloc(strlen(text) + 1));
    return strcpy(copy, text);
}

/* Writes the name of the program and of the command. */
static const char *full_name(const command *c, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%s%s%s", running->name, c->name[0] != '\0' ? " " : "", c->name);
    return name;
}

static void print_usage(FILE *out, const command *c)
{
    char name[NAME_SIZE];
    fprintf(out, "Usage: %s [OPTION...]%s%s\n", full_name(c, name),
            c->arguments[0] != '\0' ? " " : "", c->arguments);
}

int command_line_wrong(const command *c, const char *format, ...)
{
    char name[NAME_SIZE];
    va_list arguments;
    fprintf(stderr, "%s: ", full_name(c, name));
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    print_usage(stderr, c);
    fprintf(stderr, "\"%s --help\" lists the options\n", name);
    return COMMAND_LINE_WRONG;
}

/* Prints the usage, the summary, the details and then, by popt, the options. */
static void print_help(const command *c, poptContext context)
{
    char text[TEXT_SIZE];
    const char *details = c->details != NULL ? c->details : "";
    snprintf(text, sizeof text,
             "[OPTION...]%s%s\n\n%s\n%s%s\nOptions:", c->arguments[0] != '\0' ? " " : "",
             c->arguments, c->summary, details[0] != '\0' ? "\n" : "", details);
    poptSetOtherOptionHelp(context, text);
    poptPrintHelp(context, stdout, 0);
}

/* Reads a number from `least` to `most`; `is_whole`: an integer without a sign. */
static bool read_number(const command *c, const command_option *o, const char *text, bool is_whole)
{
    char *end = NULL;
    double number = -1;
    uint64_t count = 0;
    errno = 0;
    if (!is_whole)
        number = strtod(text, &end);
    else if (text[0] >= '0' && text[0] <= '9')
        number = (double)(count = strtoull(text, &end, 10));
    if (end == NULL || end == text || *end != '\0' || errno == ERANGE ||
        !(number >= o->least && number <= o->most)) {
        (void)command_line_wrong(c, "--%s: \"%s\" is not %s from %.10g to %.10g", o->name, text,
                                 is_whole ? "an integer" : "a number", o->least, o->most);
        return false;
    }
    if (is_whole)
        *(uint64_t *)o->value = count;
    else
        *(double *)o->value = number;
    return true;
}

/* Sets the value of an option that has one. Returns false, after a message, if it is not allowed.
 */
static bool set_value(const command *c, const command_option *o, char *text)
{
    if (o->kind != OPTION_TEXT)
        return read_number(c, o, text, o->kind == OPTION_COUNT);
    if (text[0] == '\0') {
        (void)command_line_wrong(c, "--%s: the value is missing", o->name);
        return false;
    }
    *(const char **)o->value = text;
    return true;
}

/* Prints why popt refuses the command line. */
static void refuse(const command *c, poptContext context, int error)
{
    const char *word = poptBadOption(context, POPT_BADOPTION_NOALIAS);
    if (error == POPT_ERROR_BADOPT)
        (void)command_line_wrong(c, "unknown option \"%s\"", word);
    else if (error == POPT_ERROR_NOARG)
        (void)command_line_wrong(c, "%s: the value is missing", word);
    else if (error == POPT_ERROR_UNWANTEDARG)
        (void)command_line_wrong(c, "%s: the option takes no value", word);
    else
        (void)command_line_wrong(c, "%s: %s", word, poptStrerror(error));
}

/* Reads the options. Returns false if the program should end with `status`. */
static bool read_options(const command *c, poptContext context, const command_option *options,
                         int *status)
{
    int found;
    while ((found = poptGetNextOpt(context)) > 0) {
        if (found == HELP) {
            print_help(c, context);
            *status = COMMAND_LINE_OK;
            return false;
        }
        const command_option *o = &options[found - 1];
        if (o->kind == OPTION_FLAG)
            *(bool *)o->value = true;
        else if (!set_value(c, o, keep(poptGetOptArg(context))))
            return false;
    }
    if (found < -1)
        refuse(c, context, found);
    return found == -1;
}

/* Copies the operands, which popt releases. */
static bool take_operands(const command *c, poptContext context, uint32_t most, command_line *line)
{
    const char **words = poptGetArgs(context);
    uint32_t count = 0;
    while (words != NULL && words[count] != NULL)
        count++;
    if (count > most) {
        (void)command_line_wrong(c, "unexpected argument \"%s\"", words[most]);
        return false;
    }
    line->operands = keep(calloc((size_t)count + 1, sizeof *line->operands));
    line->count = count;
    for (uint32_t i = 0; i < count; i++)
        line->operands[i] = copy_of(words[i]);
    return true;
}

/* Translates a table of options, and adds --help. */
static void fill_table(const command_option *options, struct poptOption table[MOST_OPTIONS + 2])
{
    int count = 0;
    for (; options[count].name != NULL && count < MOST_OPTIONS; count++) {
        const command_option *o = &options[count];
        table[count] = (struct poptOption){
            .longName = o->name,
            .shortName = o->letter,
            .argInfo = (o->kind == OPTION_FLAG ? POPT_ARG_NONE : POPT_ARG_STRING) |
                       (o->help == NULL ? POPT_ARGFLAG_DOC_HIDDEN : 0),
            .val = count + 1,
            .descrip = o->help,
            .argDescrip = o->argument,
        };
    }
    table[count++] = (struct poptOption){.longName = "help",
                                         .shortName = 'h',
                                         .argInfo = POPT_ARG_NONE,
                                         .val = HELP,
                                         .descrip = "print this help"};
    table[count] = (struct poptOption)POPT_TABLEEND;
}

/* Reads the arguments from argv[first] on. */
static bool read_from(const command *c, int first, int argc, char **argv,
                      const command_option *options, uint32_t most, unsigned flags,
                      command_line *line)
{
    char name[NAME_SIZE];
    struct poptOption table[MOST_OPTIONS + 2];
    const int count = argc > first ? argc - first : 0;
    const char **words = keep(calloc((size_t)count + 2, sizeof *words));
    words[0] = full_name(c, name);
    for (int i = 0; i < count; i++)
        words[i + 1] = argv[first + i];
    fill_table(options, table);
    *line = (command_line){.status = COMMAND_LINE_WRONG};
    poptContext context = poptGetContext(NULL, count + 1, words, table, flags);
    const bool well = context != NULL && read_options(c, context, options, &line->status) &&
                      take_operands(c, context, most, line);
    poptFreeContext(context);
    return well;
}

bool command_line_read(const command *c, int argc, char **argv, const command_option *options,
                       uint32_t most, command_line *line)
{
    return read_from(c, running->commands != NULL ? 2 : 1, argc, argv, options, most, 0, line);
}

static const command *find(const char *name)
{
    for (size_t i = 0; i < running->count; i++)
        if (running->commands[i]->name[0] != '\0' && strcmp(running->commands[i]->name, name) == 0)
            return running->commands[i];
    return NULL;
}

/* Writes the list of commands. */
static void list_commands(char text[TEXT_SIZE])
{
    size_t used = (size_t)snprintf(text, TEXT_SIZE, "Commands:\n");
    for (size_t i = 0; i < running->count && used < TEXT_SIZE; i++) {
        const command *c = running->commands[i];
        const char *format = c->name[0] != '\0' ? "  %-10s %s\n" : "%s%s\n";
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, format, c->name, c->summary);
    }
}

static int unknown_command(const command *top, const char *name)
{
    return command_line_wrong(top, "unknown command \"%s\", \"%s help\" lists them", name,
                              running->name);
}

/* "help", or "help COMMAND". */
static int help(const command *top, const command_line *line)
{
    char name[] = "", option[] = "--help", *words[] = {name, line->operands[1], option, NULL};
    if (line->count > 2)
        return command_line_wrong(top, "help: unexpected argument \"%s\"", line->operands[2]);
    if (line->count == 1)
        return top->run(2, (char *[]){name, option, NULL});
    const command *c = find(line->operands[1]);
    return c != NULL ? c->run(3, words) : unknown_command(top, line->operands[1]);
}

static int run_program(int argc, char **argv)
{
    static char details[TEXT_SIZE];
    const command top = {.name = "",
                         .summary = "\"help COMMAND\" and \"COMMAND --help\" list the options of "
                                    "a command.",
                         .run = run_program,
                         .arguments = "COMMAND [ARGUMENT...]",
                         .details = details};
    bool wants_version = false;
    const command_option options[] = {
        {"version", OPTION_FLAG, &wants_version, NULL, "print the version"}, {NULL}};
    command_line line;
    list_commands(details);
    if (!read_from(&top, 1, argc, argv, options, UINT32_MAX, POPT_CONTEXT_POSIXMEHARDER, &line))
        return line.status;
    if (wants_version) {
        printf("%s %s\n", running->name, running->version);
        return COMMAND_LINE_OK;
    }
    if (line.count == 0)
        return command_line_wrong(&top, "a command is missing, \"%s help\" lists them",
                                  running->name);
    if (strcmp(line.operands[0], "help") == 0)
        return help(&top, &line);
    const command *c = find(line.operands[0]);
    return c != NULL ? c->run(argc, argv) : unknown_command(&top, line.operands[0]);
}

int program_run(const program *p, int argc, char **argv)
{
    running = p;
    const int status = p->commands != NULL ? run_program(argc, argv) : p->only->run(argc, argv);
    command_line_end();
    return status;
}
