/* Internal interface of the random family. */
#ifndef TN_OPS_RANDOM_INTERNAL_H
#define TN_OPS_RANDOM_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/random.h>

enum { RANDOM_Y, RANDOM_OPERANDS };

extern const tn_family tn_random_family;
extern const tn_solver tn_random_lines;

/* Computes the least and the greatest number of a type in [low, high). False if there is none. */
bool tn_random_limits(tenon_dtype dtype, double low, double high, double *least, double *most);

tn_prepare_function tn_random_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_random_reference;
tn_awkward_function tn_random_awkward;

#endif
