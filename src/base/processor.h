/* The processor that this process runs on, as reported by the system. */
#ifndef TN_BASE_PROCESSOR_H
#define TN_BASE_PROCESSOR_H

#include <stdbool.h>

#define TN_PROCESSOR_SIZE 192

/* Writes the brand and a hash of the features in one line; empty if unknown. Code compiled for one
 * processor may not run on another, and a home directory may be shared by several hosts. */
void tn_processor_name(char name[TN_PROCESSOR_SIZE]);

/* Returns true if `features`, or with NULL the features that the system reports, contain each of
 * the words in `needed`. The names are those of Linux; other systems report none of them. */
bool tn_processor_has(const char *features, const char *needed);

/* Returns true if the processor has a brand and `text` contains it, as the name of an OpenCL device
 * does that is this processor. */
bool tn_processor_is_in(const char *text);

#endif
