/* Sequences (tenon/sequence.h): recordings whose children are plans. */
#ifndef TN_OPS_SEQUENCE_INTERNAL_H
#define TN_OPS_SEQUENCE_INTERNAL_H

#include "dispatch/plan.h"
#include "runtime/queue/frame.h"

#include <tenon/sequence.h>

#include <stdatomic.h>

/* Maximum number of operands of a run; their numbers are below TN_WORKSPACE. */
#define SEQUENCE_OPERANDS 254

/* Memory of a sequence. The handle of a tensor has its address in u.svm. */
typedef struct sequence_memory {
    char *name;           /* of an operand; NULL: an intermediate */
    uint64_t bytes;       /* end of all views that steps use */
    size_t unit;          /* size of the largest element of these views; 0: no step uses it */
    bool is_written;      /* by a step */
    uint32_t uses;        /* operands of steps that are views of it */
    uint32_t first, last; /* steps that use it */
    uint16_t number;      /* of the operand of a run */
    uint64_t at;          /* offset of an intermediate in the workspace */
} sequence_memory;

/* All uses of memory that is bound to steps. */
typedef struct sequence_bound {
    uint64_t bytes;
    bool is_written;
} sequence_bound;

typedef struct sequence_step {
    tenon_plan *plan;                     /* a reference */
    char *label;                          /* or NULL */
    tn_operand operands[TN_MAX_OPERANDS]; /* kind NONE: absent or empty */
    double scalars[TN_MAX_SCALARS];
    /* The scalars that were given with the step; their names are static strings. */
    tenon_scalar *given;
    uint32_t given_count;
    uint64_t workspace_at; /* offset of the plan's workspace in that of the sequence */
    uint32_t first_scalar; /* of a step with a label: its first scalar among those of a run */
} sequence_step;

struct tenon_sequence {
    atomic_uint references;
    tenon_context *context;
    bool is_finished;
    sequence_memory **memories; /* operands and intermediates */
    uint32_t memory_count, memory_capacity;
    sequence_memory *operands[SEQUENCE_OPERANDS];
    uint32_t operand_count;
    sequence_step *steps;
    uint32_t step_count, step_capacity;
    /* Set by tenon_sequence_finish: */
    tn_recording recording;
    double *scalars; /* of all steps with a label */
    uint32_t scalar_count;
    sequence_bound *bound; /* one for each element of recording.bound */
    uint32_t bound_count, bound_capacity;
    tenon_memory *constants; /* of merged chains */
    uint32_t constant_count, constant_capacity;
    bool bound_is_plain; /* no bound memory can overlap another (tn_memory_is_plain) */
};

/* Fails for a NULL sequence, and for a finished one. */
tenon_status tn_sequence_check(const char *caller, const tenon_sequence *sequence);

/* Returns the memory of a handle, or NULL if it is not the sequence's. */
sequence_memory *tn_sequence_memory(const tenon_sequence *sequence, const tenon_memory *memory);

/* Returns whether a step has memory for an operand. */
bool tn_sequence_has(const sequence_step *step, uint32_t operand);

/* Returns the view of such an operand in its memory. */
tenon_tensor tn_sequence_view(const sequence_step *step, uint32_t operand);

/* Updates the uses of the sequence's memories by all steps. */
void tn_sequence_count_uses(tenon_sequence *sequence);

/* Fails if outputs overlap other operands of the step. */
tenon_status tn_sequence_check_apart(const char *caller, const sequence_step *step);

void tn_sequence_drop_step(sequence_step *step);

/* Removes the steps from number `count` on. */
void tn_sequence_shorten(tenon_sequence *sequence, uint32_t count);

/* Computes the scalars of a step: those of its plan, of the step and `given`, in this order. The
 * names in `given` have no label. */
tenon_status tn_sequence_scalars(const char *caller, const sequence_step *step,
                                 const tenon_scalar *given, uint32_t count,
                                 double scalars[TN_MAX_SCALARS]);

/* Merges steps into the epilogues of the steps before them. */
tenon_status tn_sequence_merge(const char *caller, tenon_sequence *sequence);

/* Places intermediates and the workspaces of plans, and records the launches of all steps. */
tenon_status tn_sequence_record(const char *caller, tenon_sequence *sequence);

#endif
