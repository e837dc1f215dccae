/* What the tenon command needs of the system beyond base/platform.h. */
#ifndef TENON_TOOLS_PLATFORM_H
#define TENON_TOOLS_PLATFORM_H

#include "base/platform.h"

/* Variables of the environment, of this process and of those that it starts. */
void platform_set(const char *name, const char *value, bool replaces);
void platform_unset(const char *name);

unsigned platform_cores(void);
bool platform_is_terminal(FILE *file);

/* Calls for SIGINT and SIGTERM, each time. */
void platform_catch(void (*handler)(int));

/* Calls `end` when the user interrupts the program (SIGINT, SIGTERM, the console's Ctrl-C), on a
 * thread that may lock and write files; then the program ends as it would have without. A third
 * interrupt does not wait for `end`. One that the program was started to ignore stays ignored. */
void platform_end_orderly(void (*end)(void));

/* The same end, for a handler of platform_catch, which took the place of that above. */
void platform_interrupt(int number);

typedef struct platform_child {
    intptr_t handle;
} platform_child;

/* Starts this program once more, with these arguments up to NULL; what it prints is lost. */
bool platform_spawn_self(char *const *words, platform_child *child);

/* Waits for its end: whether it returned 0. */
bool platform_ended_well(platform_child child);

#endif
