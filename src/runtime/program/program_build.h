/* Obtaining a program: from the store, from the validation context, or by building its source.
 * This is the only place that builds programs. */
#ifndef TN_RUNTIME_PROGRAM_PROGRAM_BUILD_H
#define TN_RUNTIME_PROGRAM_PROGRAM_BUILD_H

#include "runtime/context/context.h"
#include "runtime/program/kernel_sources.h"

/* Trust in a program of a validation context. Only programs with correct results are stored: PoCL
 * may miscompile at random, and a binary would preserve the error. */
typedef enum tn_program_trust {
    TN_PROGRAM_NEW,
    TN_PROGRAM_SOUND,
    TN_PROGRAM_SUSPECT
} tn_program_trust;

struct tn_program {
    const struct tenon_kernel_file *source;
    char *options;
    cl_program cl;       /* NULL while a thread is building it */
    char *key;           /* key of its store entry; NULL if nothing is stored */
    atomic_bool is_used; /* one of its kernels has been created for a launch */
    tn_program_trust trust;
    bool is_kept; /* it is in the store */
};

/* Sets program->cl and the members after it. Source and options must be set. */
tenon_status tn_program_build(tenon_context *context, tn_program *program);

/* Writes a built program to the store unless it is there. Returns true if it did, and the time
 * taken (`milliseconds` may be NULL). */
bool tn_program_keep(tenon_context *context, tn_program *program, double *milliseconds);

#endif
