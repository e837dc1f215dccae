/* The processor that this process runs on, as the system tells. */
#ifndef TN_BASE_PROCESSOR_H
#define TN_BASE_PROCESSOR_H

#define TN_PROCESSOR_SIZE 192

/* Its brand and a hash of its features, in one line; empty where the system tells nothing. Code
 * that was compiled for one processor may not run on another, and a home may be on several hosts.
 */
void tn_processor_name(char name[TN_PROCESSOR_SIZE]);

#endif
