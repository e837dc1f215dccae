/* The family of reductions within the library. */
#ifndef TN_OPS_REDUCE_INTERNAL_H
#define TN_OPS_REDUCE_INTERNAL_H

#include "ops/common/reduction.h"

#include <tenon/reduce.h>

enum { REDUCE_X, REDUCE_Y, REDUCE_OPERANDS };
enum { MOMENTS_X, MOMENTS_MEAN, MOMENTS_VARIANCE, MOMENTS_OPERANDS };

/* The names by tenon_reduce_kind; NULL ends them. */
extern const char *const tn_reduce_words[];

extern const tn_family tn_reduce_family;

/* Results in double with their error bounds, in row-major order of the kept dimensions; x in host
 * memory of kind SVM, y and mean not read but for their types. `means` and `mean` may be NULL.
 * False without memory. */
bool tn_reduce_reference(const tenon_reduce_params *params, const tenon_tensor *x,
                         const tenon_tensor *y, tn_bounded *results, tn_bounded *means);

tenon_status tn_reduce_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256]);

#endif
