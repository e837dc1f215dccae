/* TENON_VERBOSE=1: the calls of a context on the standard error output, a line each. What is built
 * and checked is printed on its way to the log (runtime/context/context_create.c). */
#ifndef TN_DISPATCH_VERBOSE_H
#define TN_DISPATCH_VERBOSE_H

#include "dispatch/plan.h"

/* An operand of a line. */
typedef struct tn_verbose_operand {
    const char *name;
    const tenon_tensor *view; /* NULL where absent */
} tn_verbose_operand;

/* tn_recording_run; in a context that says what it does, waits for the call and prints a line:
 * microseconds, operation, solver, operands, and the text of the scalars that the run sets. */
tenon_status tn_verbose_run(const tenon_plan *plan, tenon_stream *stream,
                            const tn_operand *operands, const double *scalars,
                            const tn_verbose_operand *named, uint32_t count,
                            const char *scalars_text, const tenon_sync *sync);

#endif
