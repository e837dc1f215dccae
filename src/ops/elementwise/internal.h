/* Internal interface of the element-wise, chain and copy families. */
#ifndef TN_OPS_ELEMENTWISE_INTERNAL_H
#define TN_OPS_ELEMENTWISE_INTERNAL_H

#include "elementwise/args.h"
#include "elementwise/chain_args.h"
#include "ops/function/functions.h"

#include <tenon/concat.h>
#include <tenon/elementwise.h>

enum { ELEMENTWISE_A, ELEMENTWISE_B, ELEMENTWISE_D, ELEMENTWISE_OPERANDS };
enum { COPY_X, COPY_Y, COPY_OPERANDS };
enum { CHAIN_X0, CHAIN_X1, CHAIN_X2, CHAIN_X3, CHAIN_Y, CHAIN_OPERANDS };

/* A chain of steps. views.kind is the only transcendental activation of the steps, or 0. */
typedef struct elementwise_chain_problem {
    tn_pointwise_problem views;
    uint64_t step_count;
    chain_step_args steps[CHAIN_STEPS];
} elementwise_chain_problem;

/* Names indexed by tenon_chain_op and by tenon_chain_source; terminated by NULL. */
extern const char *const tn_chain_words[], *const tn_chain_source_words[];

extern const tn_family tn_elementwise_family, tn_elementwise_chain_family, tn_copy_family;
extern const tn_solver tn_elementwise_rows, tn_elementwise_integers, tn_elementwise_function,
    tn_chain_fixed, tn_copy_rows, tn_copy_convert, tn_copy_transpose, tn_copy_transpose_local;

/* Records the launch of a chain's kernel. */
tenon_status tn_chain_record(const char *caller, tn_recording *recording,
                             const elementwise_chain_problem *problem, const char *source,
                             const char *kernel, const char *options);

/* The reference of tenon_elementwise on integers. */
void tn_integers_reference(uint32_t kind, const tenon_tensor *const *views, tn_bounded *results);

/* Return v + p and v · p with the bound of a chain's step. p is exact, since it comes from memory
 * or the parameters. */
tn_bounded tn_chain_plus(tenon_dtype dtype, tn_bounded v, double p);
tn_bounded tn_chain_times(tenon_dtype dtype, tn_bounded v, double p);

/* Returns true if a tenon_elementwise_kind is in the list of binary functions. */
static inline bool tn_elementwise_is_function(uint32_t kind)
{
    return kind > TENON_ELEMENTWISE_SCALE_ADD;
}

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_elementwise_prepare, tn_elementwise_chain_prepare, tn_copy_prepare;
tn_reference_function tn_elementwise_reference, tn_elementwise_chain_reference, tn_copy_reference;
tn_awkward_function tn_elementwise_awkward;
bool tn_elementwise_chain_awkward(const tn_problem *problem, const tn_choice *choice,
                                  uint32_t number, struct tn_case *c);
tn_awkward_function tn_copy_awkward;

/* A concatenation: a copy of each input to its slice of y. */
typedef struct tn_concat {
    const char *caller;
    tenon_context *context;
    const tenon_tensor *const *inputs;
    uint32_t count, axis;
    const tenon_tensor *y;
    bool is_recorded; /* in a sequence, whose memory the tensors may have */
} tn_concat;

/* Checks a concatenation and sets its axis and the parameters of its copies. */
tenon_status tn_concat_take(tn_concat *c, const tenon_concat_params *params,
                            tenon_copy_params *copy);

/* Sets `*slice` to the slice of y for input i at `*start`, and advances `*start`. Returns false if
 * y is too short. */
bool tn_concat_slice(const tn_concat *c, uint32_t i, int64_t *start, tenon_tensor *slice);

/* Returns true if two views have the same elements of the same memory. */
bool tn_same_elements(const tenon_tensor *a, const tenon_tensor *b);

#endif
