/* The element-wise, chain and copy families within the library. */
#ifndef TN_OPS_ELEMENTWISE_INTERNAL_H
#define TN_OPS_ELEMENTWISE_INTERNAL_H

#include "elementwise/args.h"
#include "elementwise/chain_args.h"
#include "ops/common/pointwise.h"

#include <tenon/elementwise.h>

enum { ELEMENTWISE_A, ELEMENTWISE_B, ELEMENTWISE_D, ELEMENTWISE_OPERANDS };
enum { COPY_X, COPY_Y, COPY_OPERANDS };
enum { CHAIN_X0, CHAIN_X1, CHAIN_X2, CHAIN_X3, CHAIN_Y, CHAIN_OPERANDS };

/* The kind of `views` is the one transcendental activation of the steps, or 0. */
typedef struct elementwise_chain_problem {
    tn_pointwise_problem views;
    uint64_t step_count;
    chain_step_args steps[CHAIN_STEPS];
} elementwise_chain_problem;

/* The names by tenon_chain_op and by tenon_chain_source; NULL ends them. */
extern const char *const tn_chain_words[], *const tn_chain_source_words[];

extern const tn_family tn_elementwise_family, tn_elementwise_chain_family, tn_copy_family;
extern const tn_solver tn_elementwise_rows, tn_chain_fixed, tn_copy_rows, tn_copy_transpose,
    tn_copy_transpose_local;

/* Results in double with their error bounds, in row-major order (false without memory); a and b are
 * host memory of kind SVM, d is not read. */
bool tn_elementwise_reference(const tenon_elementwise_params *params, const tenon_tensor *a,
                              const tenon_tensor *b, const tenon_tensor *d, tn_bounded *results);

/* Fills in what a problem has beyond the views, and two scalars for each step. */
void tn_elementwise_chain_fill(const tenon_elementwise_chain_params *params,
                               elementwise_chain_problem *problem, double *scalars);

/* Records the launch of a chain's kernel. */
tenon_status tn_chain_record(const char *operation, tn_recording *recording,
                             const elementwise_chain_problem *problem, const char *source,
                             const char *kernel, const char *options);

/* Compares a choice of tn_chain_fixed, for the steps and the repeated inputs of the problem. */
tenon_status tn_chain_fixed_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256]);

/* The same of a chain. Inputs that are NULL are absent. */
bool tn_elementwise_chain_reference(const tenon_elementwise_chain_params *params,
                                    const tenon_tensor *const *inputs, const tenon_tensor *y,
                                    tn_bounded *results);

/* tenon_copy in the name of another operation. */
tenon_status tn_copy_run(const char *operation, tenon_stream *stream,
                         const tenon_copy_params *params, const tenon_tensor *x,
                         const tenon_tensor *y, const tenon_sync *sync);

/* The same of a copy; every result is exact. */
bool tn_copy_reference(const tenon_tensor *x, const tenon_tensor *y, tn_bounded *results);

tenon_status tn_elementwise_self_check(tenon_stream *stream, const tn_problem *problem,
                                       const tn_choice *choice, bool *right, char why[256]);
tenon_status tn_elementwise_chain_self_check(tenon_stream *stream, const tn_problem *problem,
                                             const tn_choice *choice, bool *right, char why[256]);
tenon_status tn_copy_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256]);
/* The part of the solvers that serve transposes alone. */
tenon_status tn_copy_transpose_check(tenon_stream *stream, const tn_problem *problem,
                                     const tn_choice *choice, bool *right, char why[256]);

#endif
