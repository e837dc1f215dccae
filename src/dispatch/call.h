/* A call of an operation, as its entry hands it to dispatch: operands by name and role, scalars. */
#ifndef TN_DISPATCH_CALL_H
#define TN_DISPATCH_CALL_H

#include "dispatch/solver.h"
#include "runtime/memory/memory.h"

#include <tenon/plan.h>

#define TN_MAX_OPERANDS 16
#define TN_MAX_SCALARS  16

typedef enum tn_role {
    TN_INPUT,           /* must not overlap an output */
    TN_INPUT_OR_SAME,   /* may be an output, element by element */
    TN_OUTPUT,          /* there may be several, which must not overlap one another */
    TN_OPTIONAL_OUTPUT, /* the same, but may be absent */
    TN_OWN_OUTPUT       /* the same, but not even a TN_INPUT_OR_SAME may be it */
} tn_role;

/* An operand by its name in the public header. */
typedef struct tn_argument {
    const char *name;
    const tenon_tensor *view; /* NULL where absent */
    tn_role role;
} tn_argument;

struct tn_operation;

/* A call of an operation. */
typedef struct tn_call {
    const char *caller; /* "tenon_gemm" */
    const struct tn_operation *operation;
    tenon_context *context;
    const void *params; /* the parameters, or the defaults */
    tn_argument operands[TN_MAX_OPERANDS];
    uint32_t operand_count;
    double scalars[TN_MAX_SCALARS];
    /* The views as given; preparing a call drops those that it does not read from `operands`. */
    const tenon_tensor *given[TN_MAX_OPERANDS];
} tn_call;

/* Whether `size` is that of the parameter struct, and no flag is set beyond those known. */
tenon_status tn_params_check(const char *caller, uint32_t size, size_t known_size, uint32_t flags,
                             uint32_t known_flags);

/* Refuses a reserved parameter that is set, and a value beyond the last one of an enumeration. */
tenon_status tn_reserved_check(const char *caller, uint32_t reserved);
tenon_status tn_kind_check(const char *caller, const char *parameter, uint32_t kind, uint32_t last,
                           const char *type);

/* Refuses malformed views, an output that is absent, and one that overlaps itself. */
tenon_status tn_call_check_views(const tn_call *call);

/* Each operand's memory must hold its view, and the outputs must be apart from all else. Operands
 * without a view are passed over. tn_call_run and tn_call_plan do this, too. */
tenon_status tn_call_check_memory(const tn_call *call, tenon_context *context);

bool tn_is_output(tn_role role);

/* Of the line that repeats a failure. */
#define TN_REPEAT_SIZE 2048

/* Writes the call in the words of `tenon check` (check/case.h), by its family's registry. */
void tn_call_text(const tn_call *call, char text[TN_REPEAT_SIZE]);

#endif
