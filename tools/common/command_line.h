/* The command lines of tenon and tenon-bench: a program with commands, each of which has options
 * and operands. popt parses them and prints the options of a help text.
 *
 * Everything that is passed to popt, including all help texts, is ASCII: popt converts texts to the
 * character set of the locale and truncates what it cannot convert. The functions are not safe for
 * calls from several threads. */
#ifndef TENON_TOOLS_COMMON_COMMAND_LINE_H
#define TENON_TOOLS_COMMON_COMMAND_LINE_H

#include "base/platform.h"

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses of a program that was used correctly, and of one that was not. */
enum { COMMAND_LINE_OK = 0, COMMAND_LINE_WRONG = 2 };

/* The kinds of options, and the type to which `value` points. */
typedef enum option_kind {
    OPTION_FLAG,   /* bool, set to true */
    OPTION_TEXT,   /* const char *; an empty text is refused */
    OPTION_NUMBER, /* double from `least` to `most` */
    OPTION_COUNT,  /* uint64_t from `least` to `most` */
} option_kind;

/* An option. A table of options ends with an entry without a name. If an option is repeated, the
 * last value counts. */
typedef struct command_option {
    const char *name; /* without the dashes */
    option_kind kind;
    void *value;          /* unchanged if the option is absent */
    const char *argument; /* the word for the value in the help; NULL for a flag */
    const char *help;     /* NULL: the option is not shown */
    double least, most;   /* both are allowed */
    char letter;          /* of the short form; 0: none */
} command_option;

/* A command. */
typedef struct command {
    const char *name;
    const char *summary; /* a line for the list of commands */
    /* Runs the command; argv[1] is its name. Returns the exit status. */
    int (*run)(int argc, char **argv);
    const char *arguments; /* the operands in the usage line; "" if there are none */
    const char *details;   /* lines between the summary and the options, which end with a newline;
                              NULL: none */
} command;

/* A program and its commands. A command without a name begins a group of commands, of which its
 * summary is the heading. */
typedef struct program {
    const char *name, *version;
    const command *const *commands; /* NULL: it has none, and runs `only` */
    size_t count;
    const command *only; /* its name is "" */
} program;

/* Runs the command that the arguments name, or prints the help ("help", "help COMMAND", --help) or
 * the version. Returns the exit status. */
int program_run(const program *p, int argc, char **argv);

/* The operands of a command line. They and the texts of options are valid until the program ends.
 */
typedef struct command_line {
    char **operands;
    uint32_t count;
    int status; /* the exit status if command_line_read returned false */
} command_line;

/* Reads the arguments after the name of the command: sets the values of the options, and `line`.
 * Refuses more than `most` operands. Returns false if the program should end with line->status: the
 * help was printed, or the reason why the command line is invalid. */
bool command_line_read(const command *c, int argc, char **argv, const command_option *options,
                       uint32_t most, command_line *line);

/* Prints an error in the command line, and the usage of the command, to stderr. Returns
 * COMMAND_LINE_WRONG. */
int command_line_wrong(const command *c, const char *format, ...) TN_PRINTF(2, 3);

/* Releases the operands and texts of all command lines. */
void command_line_end(void);

#endif
