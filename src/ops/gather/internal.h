/* Internal interface of the gather and scatter families. */
#ifndef TN_OPS_GATHER_INTERNAL_H
#define TN_OPS_GATHER_INTERNAL_H

#include "base/shape.h"
#include "gather/args.h"
#include "ops/common/epilogue.h"

#include <tenon/gather.h>

/* Operands in both directions: the input (x, dy, updates), the indices and the output (y, dx, y).
 */
enum { GATHER_FROM, GATHER_INDICES, GATHER_TO, GATHER_OPERANDS };

/* An index mode on actual views. The elements of a table (x or dx, or y of a scatter) are paired
 * with those of a picked tensor (y or dy, or the updates of a scatter). */
typedef struct tn_index {
    uint32_t mode;     /* tenon_index_mode */
    uint32_t axis;     /* the first indexed dimension of the table */
    uint32_t count;    /* indexed dimensions: 1, or the length of a tuple */
    uint32_t rank;     /* of the indices, without the dimension of the coordinates */
    uint32_t from_end; /* 1: negative indices count from the end */
} tn_index;

/* Returns the dimension of the table, or of the indices, along which the picked tensor's dimension
 * `d` varies; -1: none. */
int32_t tn_index_table_dimension(const tn_index *index, uint32_t d);
int32_t tn_index_own_dimension(const tn_index *index, uint32_t d);

/* The index space of y, sorted by decreasing stride of y. Operands have stride 0 in dimensions that
 * they lack. */
typedef struct gather_problem {
    tn_problem head;
    uint32_t dtype, index_type;
    uint64_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[GATHER_OPERANDS][TENON_MAX_RANK];
    gather_tuple_args tuple; /* weights are strides of x */
} gather_problem;

/* Columns and keys are dimensions of the table, sorted by decreasing stride. Neighbors in a column
 * share a tuple. */
typedef struct scatter_problem {
    tn_problem head;
    uint32_t dtype, index_type;
    uint32_t op;        /* tenon_scatter_op */
    uint32_t from_zero; /* 1: the table is set to zeros first */
    uint64_t rank;      /* of the columns, at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[2][TENON_MAX_RANK]; /* of the picked tensor and the table */
    int64_t keys, key_rank;            /* at least 1 */
    int64_t key_shape[TENON_MAX_RANK], key_stride[TENON_MAX_RANK];
    gather_list_args list;
    int64_t batch_stride[TENON_MAX_RANK]; /* of the table, in dimensions of the list */
    gather_tuple_args tuple;              /* weights are numbers of keys */
    int64_t tuple_stride[TENON_MAX_RANK]; /* of the table, per coordinate */
} scatter_problem;

extern const tn_family tn_gather_family, tn_gather_backward_family, tn_scatter_family;
extern const tn_solver tn_gather_rows, tn_scatter_scan, tn_scatter_sorted, tn_scatter_ordered;

/* Fill in a problem from validated views. No view is empty, except the picked tensor and the
 * indices for the gradient. */
void tn_gather_canonicalize(const tenon_tensor *x, const tenon_tensor *indices,
                            const tenon_tensor *y, const tn_index *index, gather_problem *problem);
void tn_scatter_canonicalize(const tenon_tensor *picked, const tenon_tensor *indices,
                             const tenon_tensor *table, const tn_index *index,
                             scatter_problem *problem);

/* Parts of the solvers of a scatter: the elements of all columns; the build options of its kernels,
 * and the time of moving the updates; the launch that sets the table to zeros, if the problem needs
 * it; the sign bit of the elements if they are signed integers, otherwise 0. */
int64_t tn_scatter_columns(const scatter_problem *problem);
void tn_scatter_configure(tenon_context *context, const scatter_problem *problem,
                          tn_choice *choice);
tenon_status tn_scatter_begin(const char *caller, tn_recording *recording,
                              const scatter_problem *problem);
int64_t tn_scatter_sign(const scatter_problem *problem);

/* Returns the build options for the type of the indices and for tuples of several coordinates
 * (cl_kernels/gather/tuple.clh), with a leading space. */
#define GATHER_TUPLE_SIZE 48
char *tn_gather_tuple_options(uint32_t index_type, const gather_tuple_args *tuple,
                              char text[GATHER_TUPLE_SIZE]);

tn_prepare_function tn_gather_prepare, tn_gather_backward_prepare, tn_scatter_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_gather_reference, tn_gather_backward_reference, tn_scatter_reference;
tn_fill_function tn_gather_fill_valid, tn_gather_backward_fill_valid, tn_scatter_fill_valid;
tn_awkward_function tn_gather_awkward, tn_gather_backward_awkward, tn_scatter_awkward;

#endif
