/* Internal interface of the function family. */
#ifndef TN_OPS_FUNCTION_INTERNAL_H
#define TN_OPS_FUNCTION_INTERNAL_H

#include "ops/function/function.h"

#include <tenon/function.h>

enum { FUNCTION_X, FUNCTION_Y, FUNCTION_OPERANDS };

extern const tn_family tn_function_family;
extern const tn_solver tn_function_rows;

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_function_prepare;
tn_reference_function tn_function_forward_reference;
tn_awkward_function tn_function_awkward;
tn_fill_function tn_function_fill;

#endif
