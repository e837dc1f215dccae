/* Shapes, strides, overlap and canonical form: everything about views that needs no device. */
#ifndef TN_BASE_SHAPE_H
#define TN_BASE_SHAPE_H

#include "base/shape_text.h"
#include "base/status.h"

#include <tenon/tensor.h>

#include <stdbool.h>

/* The byte range of a view's elements: [first, end). For an empty view first == end. */
typedef struct tn_extent {
    uint64_t first, end;
} tn_extent;

/* Fails for a memory handle of unknown kind or with its reserved member set. */
tenon_status tn_handle_check(const char *caller, const char *argument, const tenon_memory *memory);

/* Fails for a NULL or malformed view: type, rank, negative sizes or strides, an offset that is not
 * a multiple of the element size, or an element count or extent that overflows. The message names
 * `caller` and `argument`. */
tenon_status tn_tensor_check(const char *caller, const char *argument, const tenon_tensor *tensor);

/* Returns true if two handles are of one kind and have the same value. */
static inline bool tn_same_memory(const tenon_memory *a, const tenon_memory *b)
{
    return a->kind == b->kind && a->u.svm == b->u.svm;
}

/* The functions below take views that tn_tensor_check has accepted. */

bool tn_tensor_empty(const tenon_tensor *tensor);
tn_extent tn_tensor_extent(const tenon_tensor *tensor);

/* Returns true if the elements are dense in row-major order. Dimensions of size 1 may have any
 * stride. */
bool tn_tensor_dense(const tenon_tensor *tensor);

bool tn_tensor_same_shape(const tenon_tensor *a, const tenon_tensor *b);

/* Fails unless the view has this shape. */
tenon_status tn_shape_check(const char *caller, const char *argument, const tenon_tensor *tensor,
                            uint32_t rank, const int64_t *shape);

/* Returns true if two views address the same elements in the same order: equal offset, type and
 * shape, and equal strides where they matter. */
bool tn_tensor_same_view(const tenon_tensor *a, const tenon_tensor *b);

/* Returns true if two indices may refer to the same element. Nested strides (each at least the
 * span of all smaller ones) never do; any other set of strides is treated as overlapping. */
bool tn_tensor_self_overlaps(const tenon_tensor *tensor);

/* Returns true if two views of one memory may share a byte. `shift` is added to b's offset: the
 * start of b's memory within a's. Views that interleave with a common pitch (two column blocks of
 * a matrix) are recognized as disjoint. */
bool tn_tensor_overlaps(const tenon_tensor *a, const tenon_tensor *b, int64_t shift);

/* Fails for an output whose elements overlap. */
tenon_status tn_output_check(const char *caller, const char *argument, const tenon_tensor *tensor);

/* Writes the strides with which `tensor` is read as a view of `rank` and `shape`: aligned at the
 * right, 0 in repeated dimensions. Fails if the shape does not broadcast. */
tenon_status tn_broadcast(const char *caller, const char *argument, const tenon_tensor *tensor,
                          uint32_t rank, const int64_t *shape, int64_t *stride);

/* Advances an index over a shape, the last dimension fastest. After the last index, returns false
 * and resets it to zeros. */
bool tn_next_index(int64_t *index, const int64_t *shape, uint32_t rank);

/* Several operands that are traversed with one index. */
#define TN_MAX_VIEWS 8
typedef struct tn_space {
    uint32_t rank, views;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TN_MAX_VIEWS][TENON_MAX_RANK];
} tn_space;

/* Removes dimensions of size 1 and merges adjacent dimensions if every view has a uniform stride
 * across them. Keeps the order of the elements. A space of one element gets rank 0. */
void tn_space_collapse(tn_space *space);

#endif
