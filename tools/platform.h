/* Platform functions of the tenon command, in addition to base/platform.h. */
#ifndef TENON_TOOLS_PLATFORM_H
#define TENON_TOOLS_PLATFORM_H

#include "base/platform.h"

/* Set and unset environment variables of this process and its children. */
void platform_set(const char *name, const char *value, bool replaces);
void platform_unset(const char *name);

unsigned platform_cores(void);
bool platform_is_terminal(FILE *file);

/* Calls `handler` for every SIGINT and SIGTERM. */
void platform_catch(void (*handler)(int));

/* Calls `end` when the user interrupts the program (SIGINT, SIGTERM, the console's Ctrl-C), on a
 * thread that may lock and write files; the program then ends as it would without a handler. A
 * third interrupt does not wait for `end`. A signal that was ignored when the program started
 * remains ignored. */
void platform_end_orderly(void (*end)(void));

/* Ends the program in the same way, from a handler of platform_catch, which has replaced the one
 * above. */
void platform_interrupt(int number);

typedef struct platform_child {
    intptr_t handle;
} platform_child;

/* Starts this program again with these arguments, terminated by NULL; its output is discarded. */
bool platform_spawn_self(char *const *words, platform_child *child);

/* Waits for the child's end. Returns true if it returned 0. */
bool platform_ended_well(platform_child child);

#endif
