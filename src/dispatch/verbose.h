/* TENON_VERBOSE=1: prints the calls of a context to stderr, one line each. Builds and checks are
 * printed through the log (runtime/context/context_create.c). */
#ifndef TN_DISPATCH_VERBOSE_H
#define TN_DISPATCH_VERBOSE_H

#include "dispatch/plan.h"

/* An operand in a printed line. */
typedef struct tn_verbose_operand {
    const char *name;
    const tenon_tensor *view; /* NULL if absent */
} tn_verbose_operand;

/* Like tn_recording_run, but in a verbose context waits for the call and prints a line:
 * microseconds, operation, solver, operands, and the text of the scalars that the run sets. */
tenon_status tn_verbose_run(const tenon_plan *plan, tenon_stream *stream,
                            const tn_operand *operands, const double *scalars,
                            const tn_verbose_operand *named, uint32_t count,
                            const char *scalars_text, const tenon_sync *sync);

#endif
