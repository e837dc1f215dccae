/* The random family within the library. */
#ifndef TN_OPS_RANDOM_INTERNAL_H
#define TN_OPS_RANDOM_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/random.h>

enum { RANDOM_Y, RANDOM_OPERANDS };

extern const tn_family tn_random_family;
extern const tn_solver tn_random_lines;

/* The scalars of a run: the seed, the sequence, and what the kind takes. */
void tn_random_scalars(const tenon_random_params *params, tenon_dtype dtype,
                       double scalars[TN_MAX_SCALARS]);

/* The least and the greatest number of a type in [low, high); false where there is none. */
bool tn_random_limits(tenon_dtype dtype, double low, double high, double *least, double *most);

/* Fills in a problem; `params` are tenon_random_params, `views` y alone. */
void tn_random_canonicalise(const void *params, const tenon_tensor *const *views,
                            tn_lines_problem *problem);

/* y in double with the error bounds, in row-major order; true. y is not read. */
bool tn_random_reference(const void *params, const tenon_tensor *const *views, tn_bounded *results);

tenon_status tn_random_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256]);

#endif
