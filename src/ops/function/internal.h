/* Internal interface of the function family. */
#ifndef TN_OPS_FUNCTION_INTERNAL_H
#define TN_OPS_FUNCTION_INTERNAL_H

#include "ops/function/functions.h"

#include <tenon/function.h>

enum { FUNCTION_X, FUNCTION_Y, FUNCTION_OPERANDS };

extern const tn_family tn_function_family;
extern const tn_solver tn_function_rows, tn_function_integers;

/* The reference on integers: absolute value, negation and sign. */
void tn_function_integers_reference(uint32_t kind, const tenon_tensor *const *views,
                                    tn_bounded *results);

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_function_prepare;
tn_reference_function tn_function_forward_reference;
tn_awkward_function tn_function_awkward;
tn_fill_function tn_function_fill;

#endif
