/* Rules for the type and shape of outputs (tn_operand_info.shape) that several operations share. */
#ifndef TN_OPS_COMMON_OUTPUT_SHAPE_H
#define TN_OPS_COMMON_OUTPUT_SHAPE_H

#include "dispatch/operation.h"

/* The type and shape of the first and of the second operand. */
tn_shape_function tn_shape_of_first, tn_shape_of_second;

/* The shape of the first operand, with the types bool and i32; and that of the second with i32. */
tn_shape_function tn_shape_of_first_bool, tn_shape_of_first_i32, tn_shape_of_second_i32;

/* An i32 without dimensions; and one element of the type in which the first operand is summed. */
tn_shape_function tn_shape_one_i32, tn_shape_one_sum;

/* The first two operands broadcast to each other: with the type of the first; of type bool. */
tn_shape_function tn_shape_of_two, tn_shape_of_two_bool;

/* Return the type in which elements of a type are summed; set the type and shape of an output; and
 * append a dimension, if there is room for it. */
tenon_dtype tn_sum_dtype(tenon_dtype dtype);
bool tn_shape_set(tenon_tensor *output, tenon_dtype dtype, uint32_t rank, const int64_t *shape);
bool tn_shape_append(tenon_tensor *output, int64_t size);

/* Broadcasts the shapes of views to each other. NULL views are left out. Does not set the type. */
bool tn_shape_broadcast(const tenon_tensor *const *views, uint32_t count, tenon_tensor *output);

/* Converts an axis from -rank to rank - 1 to its number; returns false for others. */
bool tn_shape_axis(int32_t axis, uint32_t rank, uint32_t *number);

#endif
