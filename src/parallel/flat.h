/* Tensors one after the other in one array. */
#ifndef TN_PARALLEL_FLAT_H
#define TN_PARALLEL_FLAT_H

#include "group/group.h"

/* Fails unless there are at least one and `count` valid tensors, all of one type of floats. */
tenon_status tn_flat_check(const char *caller, uint32_t count, const tenon_tensor *tensors);

/* Computes the elements of the array: each tensor begins at a multiple of 64 elements, and the
 * size is a multiple of 64 · parts and at least that. */
tenon_status tn_flat_size(const char *caller, uint32_t count, const tenon_tensor *tensors,
                          uint32_t parts, int64_t *size);

/* Makes the row-major tensors of these shapes in an array. */
void tn_flat_views(uint32_t count, const tenon_tensor *shapes, const tenon_tensor *array,
                   tenon_tensor *views);

/* Creates an array of zeros for each local member. On failure, those that were created remain, to
 * be freed with tn_flat_destroy; the others are zeros. */
tenon_status tn_flat_create(const char *caller, tenon_group *group, tenon_dtype dtype, int64_t size,
                            tenon_tensor *arrays);
void tn_flat_destroy(const tenon_group *group, tenon_tensor *arrays);

#endif
