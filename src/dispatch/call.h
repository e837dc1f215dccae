/* A call of an operation as its public function passes it to dispatch: named operands with roles,
 * and scalars. */
#ifndef TN_DISPATCH_CALL_H
#define TN_DISPATCH_CALL_H

#include "dispatch/solver.h"
#include "runtime/memory/memory.h"

#include <tenon/plan.h>

#define TN_MAX_OPERANDS 16
#define TN_MAX_SCALARS  16

typedef enum tn_role {
    TN_INPUT,           /* must not overlap an output */
    TN_INPUT_OR_SAME,   /* may be identical to an output, element by element */
    TN_OUTPUT,          /* must not overlap another output */
    TN_OPTIONAL_OUTPUT, /* an output that may be absent */
    TN_OWN_OUTPUT       /* an output that not even a TN_INPUT_OR_SAME may overlap */
} tn_role;

/* An operand under its name in the public header. */
typedef struct tn_argument {
    const char *name;
    const tenon_tensor *view; /* NULL if absent */
    tn_role role;
    bool unread; /* set when a call is prepared that does not read an output which others read */
} tn_argument;

struct tn_operation;

/* A call of an operation. */
typedef struct tn_call {
    const char *caller; /* "tenon_gemm" */
    const struct tn_operation *operation;
    tenon_context *context;
    const void *params; /* the caller's parameters, or the defaults */
    tn_argument operands[TN_MAX_OPERANDS];
    uint32_t operand_count;
    double scalars[TN_MAX_SCALARS];
    /* The views that the caller gave. Preparing a call removes those that it does not read from
     * `operands`. */
    const tenon_tensor *given[TN_MAX_OPERANDS];
} tn_call;

/* Fails unless `size` is the size of the parameter struct and no unknown flag is set. */
tenon_status tn_params_check(const char *caller, uint32_t size, size_t known_size, uint32_t flags,
                             uint32_t known_flags);

/* The first fails if a reserved parameter is set, the second if a value exceeds the last one of
 * its enumeration. */
tenon_status tn_reserved_check(const char *caller, uint32_t reserved);
tenon_status tn_kind_check(const char *caller, const char *parameter, uint32_t kind, uint32_t last,
                           const char *type);

/* Fails for a malformed view, a missing operand, or an output that overlaps itself. */
tenon_status tn_call_check_views(const tn_call *call);

/* Fails unless each operand's memory holds its view and no output overlaps another operand.
 * Operands without a view are skipped. tn_call_run and tn_call_plan include this check. */
tenon_status tn_call_check_memory(const tn_call *call, tenon_context *context);

/* The second part of tn_call_check_memory: fails if an output overlaps another operand. */
tenon_status tn_call_check_apart(const tn_call *call);

bool tn_is_output(tn_role role);

/* Size of the text that reproduces a failure. */
#define TN_REPEAT_SIZE 2048

/* Writes the call as arguments of `tenon check` (check/case.h), through its family's registry. */
void tn_call_text(const tn_call *call, char text[TN_REPEAT_SIZE]);

#endif
