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

#define TN_REDUCE_KINDS (TENON_REDUCE_ARGMIN_LAST + 1)

/* Returns the tenon_reduce_kind of a problem. */
uint32_t tn_reduce_kind_of(const tn_reduction_problem *problem);

/* Return true if the result of a kind is a position, or is computed from the number of elements
 * that are not zero; and the type of the result, which may also be wider than a 16-bit x. */
bool tn_reduce_is_place(uint32_t kind);
bool tn_reduce_counts(uint32_t kind);
tenon_dtype tn_reduce_result(uint32_t kind, tenon_dtype x);

tn_prepare_function tn_reduce_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_reduce_reference, tn_moments_reference;
tn_awkward_function tn_reduce_awkward;
tn_fill_function tn_reduce_fill;

#endif
