/* What several commands read from the command line. */
#ifndef TENON_TOOLS_OPTIONS_H
#define TENON_TOOLS_OPTIONS_H

#include "command.h"

#include <stdbool.h>

/* Takes `name` and its value out of the words, wherever they are; the value stays as it was where
 * there is none. False where the option lacks its value. */
bool take_option(int *argc, char **argv, const char *name, const char **value);

/* Takes `name` out of the words; whether it was there. */
bool take_flag(int *argc, char **argv, const char *name);

/* Says that there is no such target, and which there are. Returns EXIT_USAGE. */
int unknown_target(const command *c, const char *name);

#endif
