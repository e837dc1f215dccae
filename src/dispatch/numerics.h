/* TENON_CHECK_NUMERICS=1: reports calls that turn finite inputs into NaN or infinity. */
#ifndef TN_DISPATCH_NUMERICS_H
#define TN_DISPATCH_NUMERICS_H

#include "dispatch/operation.h"

/* An operand of a run, with memory. */
typedef struct tn_numerics_operand {
    const char *name;
    tenon_tensor view; /* type 0 if absent */
    bool is_input, is_output;
} tn_numerics_operand;

/* A run to be checked. */
typedef struct tn_numerics {
    const tn_operation *operation;
    const char *solver;
    tn_numerics_operand operands[TN_MAX_OPERANDS];
    uint32_t operand_count;
    bool is_finite; /* all inputs were finite before the run */
} tn_numerics;

/* Returns true if the runs of an operation (NULL: unknown) are checked in the stream's context. */
bool tn_numerics_enabled(const tenon_stream *stream, const tn_operation *operation);

/* Describe the operands of an immediate call, and those of a plan's run. */
void tn_numerics_of_call(const tenon_plan *plan, const tn_call *call, tn_numerics *numerics);
void tn_numerics_of_plan(const tenon_plan *plan, const tn_operand *operands, tn_numerics *numerics);

/* Before the run: waits for its inputs and checks them. After the run: waits for it, checks its
 * outputs, and logs the first element that is not finite. Failures of a check are logged. */
void tn_numerics_before(tenon_stream *stream, tn_numerics *numerics, const tenon_sync *sync);
void tn_numerics_after(tenon_stream *stream, const tn_numerics *numerics);

#endif
