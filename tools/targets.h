/* The option --target of several commands. */
#ifndef TENON_TOOLS_TARGETS_H
#define TENON_TOOLS_TARGETS_H

#include "command.h"

#include "device/kind.h"

/* Finds the kind of device of a name; NULL for a NULL name. If there is none, prints the valid
 * names to stderr and returns false. */
bool target_named(const command *c, const char *name, const tn_device_kind **kind);

#endif
