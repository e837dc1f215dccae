/* The processor that this process runs on, as reported by the system. */
#ifndef TN_BASE_PROCESSOR_H
#define TN_BASE_PROCESSOR_H

#define TN_PROCESSOR_SIZE 192

/* Writes the brand and a hash of the features in one line; empty if unknown. Code compiled for one
 * processor may not run on another, and a home directory may be shared by several hosts. */
void tn_processor_name(char name[TN_PROCESSOR_SIZE]);

#endif
