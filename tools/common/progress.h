/* The progress of a long command: a line on a terminal that is overwritten. */
#ifndef TENON_TOOLS_COMMON_PROGRESS_H
#define TENON_TOOLS_COMMON_PROGRESS_H

#include <stdint.h>

/* Shows on stderr, which is a terminal: a bar, the number of parts done (of `all`, at least 1), the
 * seconds that are left (negative: not known), and the start of `text`. */
void progress_show(uint32_t done, uint32_t all, double left, const char *text);

/* Clears the line. */
void progress_clear(void);

#endif
