/* Internal interface of the reduction family. */
#ifndef TN_OPS_REDUCE_INTERNAL_H
#define TN_OPS_REDUCE_INTERNAL_H

#include "ops/common/reduction.h"

#include <tenon/reduce.h>

enum { REDUCE_X, REDUCE_Y, REDUCE_OPERANDS };
enum { MOMENTS_X, MOMENTS_MEAN, MOMENTS_VARIANCE, MOMENTS_OPERANDS };

/* Names indexed by tenon_reduce_kind; terminated by NULL. */
extern const char *const tn_reduce_words[];

extern const tn_family tn_reduce_family;

tn_prepare_function tn_reduce_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_reduce_reference, tn_moments_reference;
tn_awkward_function tn_reduce_awkward;

#endif
