/* Parsing of command-line options shared by several commands. */
#ifndef TENON_TOOLS_OPTIONS_H
#define TENON_TOOLS_OPTIONS_H

#include "command.h"

#include <stdbool.h>

/* Removes `name` and its value from the arguments, wherever they are. `value` is unchanged if the
 * option is absent. Returns false if its value is missing. */
bool take_option(int *argc, char **argv, const char *name, const char **value);

/* Removes `name` from the arguments. Returns true if it was present. */
bool take_flag(int *argc, char **argv, const char *name);

/* Reports an unknown target and lists the valid ones. Returns EXIT_USAGE. */
int unknown_target(const command *c, const char *name);

#endif
