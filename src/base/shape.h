/* Shapes, strides, overlap and canonical form: everything about views that needs no device. */
#ifndef TN_BASE_SHAPE_H
#define TN_BASE_SHAPE_H

#include "base/shape_text.h"
#include "base/status.h"

#include <tenon/tensor.h>

#include <stdbool.h>

/* The bytes that a view's elements lie in: [first, end). Empty views have first == end. */
typedef struct tn_extent {
    uint64_t first, end;
} tn_extent;

/* Refuses a handle to memory of no kind, or whose reserved member is set. */
tenon_status tn_handle_check(const char *caller, const char *argument, const tenon_memory *memory);

/* Refuses a NULL or malformed view: type, rank, negative sizes and strides, an offset off the
 * element's grid, an element count or extent that overflows. `operation` and `argument` name it in
 * the message. */
tenon_status tn_tensor_check(const char *caller, const char *argument, const tenon_tensor *tensor);

/* The remaining functions take views that tn_tensor_check accepted. */

bool tn_tensor_empty(const tenon_tensor *tensor);
tn_extent tn_tensor_extent(const tenon_tensor *tensor);

/* Whether the elements are dense in row-major order (dimensions of size 1 may have any stride). */
bool tn_tensor_dense(const tenon_tensor *tensor);

bool tn_tensor_same_shape(const tenon_tensor *a, const tenon_tensor *b);

/* Refuses another shape than `shape`. */
tenon_status tn_shape_check(const char *caller, const char *argument, const tenon_tensor *tensor,
                            uint32_t rank, const int64_t *shape);

/* Whether the view addresses the same elements in the same order: offset, type, and shape and
 * stride where they count. */
bool tn_tensor_same_view(const tenon_tensor *a, const tenon_tensor *b);

/* Whether two indices may give the same element. Strides that nest (each at least the span of all
 * smaller ones) never do; any other set of strides counts as overlapping. */
bool tn_tensor_self_overlaps(const tenon_tensor *tensor);

/* Whether two views of one memory may share a byte. `shift` is added to b's offset: where b's
 * memory begins within a's. Views that interleave on a common pitch (two column blocks of one
 * matrix) are told apart. */
bool tn_tensor_overlaps(const tenon_tensor *a, const tenon_tensor *b, int64_t shift);

/* Refuses an output whose elements overlap. */
tenon_status tn_output_check(const char *caller, const char *argument, const tenon_tensor *tensor);

/* Writes to `stride` those with which `tensor` is read as one of `rank` and `shape`, aligned at the
 * right, 0 where it repeats. Refuses a shape that does not broadcast. */
tenon_status tn_broadcast(const char *caller, const char *argument, const tenon_tensor *tensor,
                          uint32_t rank, const int64_t *shape, int64_t *stride);

/* Steps an index over a shape, the last dimension fastest; false, and all zeros, after the last. */
bool tn_next_index(int64_t *index, const int64_t *shape, uint32_t rank);

/* Several operands that run over one index space. */
#define TN_MAX_VIEWS 8
typedef struct tn_space {
    uint32_t rank, views;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TN_MAX_VIEWS][TENON_MAX_RANK];
} tn_space;

/* Drops dimensions of size 1 and merges neighbours wherever every view steps evenly across them.
 * Keeps the order of the elements. A space of one element gets rank 0. */
void tn_space_collapse(tn_space *space);

#endif
