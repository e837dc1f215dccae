/* The dropout family within the library. */
#ifndef TN_OPS_DROPOUT_INTERNAL_H
#define TN_OPS_DROPOUT_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/dropout.h>

enum { DROPOUT_X, DROPOUT_Y, DROPOUT_OPERANDS };

extern const tn_family tn_dropout_family;
extern const tn_solver tn_dropout_lines;

/* The scalars of a run: the seed, the sequence, the threshold of what is dropped, the scale. */
void tn_dropout_scalars(const tenon_dropout_params *params, double scalars[TN_MAX_SCALARS]);

/* Fills in a problem; `views` are x and y. */
void tn_dropout_canonicalise(const void *params, const tenon_tensor *const *views,
                             tn_lines_problem *problem);

/* y in double with the error bounds, in row-major order (false without memory); `params` are
 * tenon_dropout_params. y is not read, unless it is x. */
bool tn_dropout_reference(const void *params, const tenon_tensor *const *views,
                          tn_bounded *results);

tenon_status tn_dropout_self_check(tenon_stream *stream, const tn_problem *problem,
                                   const tn_choice *choice, bool *right, char why[256]);

#endif
