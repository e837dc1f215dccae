/* How a program comes to be: from the store, from the validation context, from its source. The only
 * place that builds. */
#ifndef TN_RUNTIME_PROGRAM_PROGRAM_BUILD_H
#define TN_RUNTIME_PROGRAM_PROGRAM_BUILD_H

#include "runtime/context/context.h"
#include "runtime/program/kernel_sources.h"

/* In a validation context only what came out right is kept: PoCL may compile wrongly by chance, and
 * a binary would bring that back. */
typedef enum tn_program_trust {
    TN_PROGRAM_NEW,
    TN_PROGRAM_SOUND,
    TN_PROGRAM_SUSPECT
} tn_program_trust;

struct tn_program {
    const struct tenon_kernel_file *source;
    char *options;
    cl_program cl;       /* NULL while a thread is building it */
    char *key;           /* of its entry in the store; NULL where nothing is kept */
    atomic_bool is_used; /* a kernel of it has been made, for a launch */
    tn_program_trust trust;
    bool is_kept; /* the store has it */
};

/* Makes program->cl, of which the source and the options are given, and what follows it. */
tenon_status tn_program_build(tenon_context *context, tn_program *program);

/* Writes a built program to the store, unless that has it; whether it did, and how long that took
 * (milliseconds may be NULL). */
bool tn_program_keep(tenon_context *context, tn_program *program, double *milliseconds);

#endif
