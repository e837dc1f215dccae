/* Packed weights: the object, packing and unpacking, and the products that take it. */
#ifndef TN_OPS_PACKED_INTERNAL_H
#define TN_OPS_PACKED_INTERNAL_H

#include "ops/conv/problem/problem.h"
#include "ops/gemm/internal.h"
#include "packed/args.h"

#include <tenon/packed.h>

/* The operation that the object is packed for. */
typedef enum packed_kind { PACKED_GEMM, PACKED_FILTER } packed_kind;

/* The layout in memory. To add one, extend the table in packed.c and the operations that select by
 * layout. */
typedef enum packed_layout {
    PACKED_ROWS,
    PACKED_PANELS,
    PACKED_FILTERS,
    /* Panels of a matrix with a column for each filter, whose rows are the taps and, for each tap,
     * the channels; followed by the dense filters, and on CPUs, for filters of 3 x 3 elements, by
     * the filters transformed for Winograd's method. */
    PACKED_FILTER_PANELS
} packed_layout;

/* Transformed filters, as conv/winograd4 transforms them for one group
 * (conv/forward/winograd_args.h). */
typedef struct packed_transformed {
    int64_t panel; /* filters of a panel; 0: there are no transformed filters */
    int64_t at;    /* where they begin in the memory, in elements of the accumulator type */
} packed_transformed;

struct tenon_packed {
    atomic_uint references;
    tenon_context *context;
    packed_kind kind;
    packed_layout layout;
    int64_t panel;       /* columns of a panel; 0 if the layout has no panels */
    tenon_tensor view;   /* shape and type of the packed tensor, row-major, without memory */
    tenon_tensor memory; /* the packed elements, of rank 1; owns its memory */
    int64_t dense_at;    /* the element of `memory` with which dense weights begin */
    packed_transformed transformed;
};

/* Fails if `packed` is NULL, belongs to another context, or was packed for another operation. */
tenon_status tn_packed_check(const char *caller, const tenon_context *context,
                             const tenon_packed *packed, packed_kind kind);

/* Returns true for i8 and u8, whose products belong to gemm_int8. Only layout "rows" supports them.
 */
bool tn_packed_is_bytes(tenon_dtype dtype);

/* Fails if floating-point weights meet another type of the input or of the output: whether a
 * product could convert them depends on their layout, which depends on the device. Absent views are
 * not checked. */
tenon_status tn_packed_check_types(const char *caller, const tenon_packed *packed,
                                   const char *input, const tenon_tensor *x, const char *output,
                                   const tenon_tensor *y);

/* Creates an object for a checked view, with uninitialized memory, or in a context without a device
 * with none. `name` forces a layout; NULL selects one. */
tenon_status tn_packed_create(const char *caller, tenon_context *context, packed_kind kind,
                              const char *name, const tenon_tensor *view, tenon_packed **out);

/* Returns the view with the object's memory, for layouts that contain the weights as a dense
 * row-major tensor. */
tenon_tensor tn_packed_dense(const tenon_packed *packed);

/* Returns a tensor with the shape of the packed one in the order of the panels, whose last
 * dimension is the columns: the tensor itself, or filters as taps, C and K. */
tenon_tensor tn_packed_matrix(const tenon_packed *packed, const tenon_tensor *tensor);

/* Returns the first dimension of tn_packed_matrix that counts rows of a matrix. Those before it are
 * a batch of matrices. */
uint32_t tn_packed_first_row(const tenon_packed *packed, const tenon_tensor *matrix);

/* Returns true for filters of one element, which are a matrix C × K. */
bool tn_packed_is_pointwise(const tenon_packed *packed);

/* Returns the packed matrix, or filters of one element, as a view without memory. Its strides are
 * those of a dense matrix padded to whole panels. */
tenon_tensor tn_packed_padded_view(const tenon_packed *packed);

/* Gives a plan the object's memory as operand `operand`, and a reference to the object. */
void tn_packed_keep(tenon_plan *plan, uint32_t operand, const tenon_packed *packed);

/* Width of a panel in vectors. With two vectors, fourteen rows of d fill 32 vector registers. */
#define PACKED_PANEL_VECTORS 2

/* Returns the width of a panel, in columns. */
int64_t tn_packed_panel(tenon_context *context, tenon_dtype dtype);

/* Returns the number of columns, rounded up to whole panels. */
int64_t tn_packed_padded(int64_t columns, int64_t panel);

/* The canonical problem of a product with panels: GEMM's problem, whose b has the strides of a
 * dense matrix padded to whole panels. */
typedef struct packed_problem {
    gemm_problem gemm;
    int64_t panel;
} packed_problem;

/* Fills in the problem from checked views; given[GEMM_B] is not used, and those of c and bias may
 * be NULL. Sets *empty if there is nothing to compute. */
tenon_status tn_gemm_packed_canonicalize(const char *caller, const tenon_gemm_params *params,
                                         const tenon_packed *packed,
                                         const tenon_tensor *const given[GEMM_MATRICES],
                                         packed_problem *problem, bool *empty);

/* Products without and with terms after the activation. */
extern const tn_family tn_gemm_packed_family, tn_gemm_packed_post_family;
extern const tn_solver tn_gemm_packed_two_steps, tn_gemm_packed_cpu, tn_gemm_packed_plain;

/* Completes and records a launch, like tn_gemm_record_launch. */
tenon_status tn_gemm_packed_record(const char *caller, tn_recording *recording,
                                   const packed_problem *problem, int64_t tile_rows,
                                   int64_t tile_cols, tn_launch *launch);

/* For solvers that multiply panels by the register tile of gemm_packed/cpu (parameters of
 * ops/gemm/cpu.h): fill in the parameters that are 0; return why the parameters are incompatible,
 * or NULL; write the build options, followed by `more`. */
void tn_packed_cpu_tune(tenon_context *context, const packed_problem *problem, int32_t *values);
const char *tn_packed_cpu_constrains(tenon_context *context, const packed_problem *problem,
                                     const int32_t *values);
void tn_packed_cpu_options(tenon_context *context, const packed_problem *problem, const char *more,
                           tn_choice *choice);

/* The canonical problem of a convolution with packed filters. The strides of w are those of the
 * dense filters. */
typedef struct filter_problem {
    conv_problem conv;
    int64_t panel;    /* columns of a panel */
    int64_t dense_at; /* the element of w with which the dense filters begin */
    packed_transformed transformed;
    int64_t only_transforms; /* 1: packing, which transforms the dense filters and computes no y */
} filter_problem;

/* Parameters of operations with packed filters: those of the convolution, and the filters. */
typedef struct filter_params {
    tenon_conv_params conv;
    const tenon_packed *packed;
} filter_params;

/* Convolutions without and with terms after the activation. */
extern const tn_family tn_conv_packed_family, tn_conv_packed_post_family;
extern const tn_solver tn_conv_packed_two_steps, tn_conv_packed_cpu, tn_conv_packed_direct,
    tn_conv_packed_depthwise, tn_conv_packed_winograd4, tn_conv_packed_dense;

/* Completes and records the launch of a kernel of conv_packed, whose source, options, kernel and
 * sizes are set. Its arguments are a conv_args, conv_post_args if there are terms after the
 * activation, and `shape`. */
#define PACKED_SHAPE_SIZE 128 /* at most, in bytes */
tenon_status tn_conv_packed_record(const char *caller, tn_recording *recording,
                                   const conv_problem *problem, int64_t residual_pixel,
                                   const void *shape, uint32_t shape_size, tn_launch *launch);

/* Returns the number of elements from the first to the last of x. */
int64_t tn_packed_span(const conv_problem *problem);

/* Adds the packed filters to the canonical problem of a convolution. */
void tn_filters_complete(const tenon_packed *packed, filter_problem *problem);

/* Sets where the transformed filters are in the memory of an object for filters in panels, and the
 * number of all its elements, of which `used` precede them. Leaves both unchanged if the filters
 * are not transformed. */
void tn_filters_place_transformed(tenon_packed *packed, int64_t *used);

/* Sets `passes` to false if conv_packed/winograd4 cannot be used on this device. Fails for reasons
 * that may be temporary. */
tenon_status tn_filters_check_transform(const char *caller, const tenon_packed *packed,
                                        bool *passes);

/* Enqueues the transformation of the dense filters. */
tenon_status tn_filters_transform(const char *caller, tenon_stream *stream,
                                  const tenon_packed *packed, const tenon_sync *sync);

/* The convolution by the solvers of conv_packed, by those of gemm_packed, and by those of conv.
 * Their parameters are filter_params. */
extern const tn_operation tn_conv_by_filters, tn_conv_by_pixels, tn_conv_by_dense;
/* The same with terms after the activation. */
extern const tn_operation tn_conv_by_filters_post;

/* Combines the caller's parameters, of any version, and the packed filters. */
tenon_status tn_filters_take_params(const char *caller, const tenon_conv_params *given,
                                    const tenon_packed *packed, filter_params *all);

/* Returns true if a choice of conv_packed/depthwise reads the rows of the image in place. */
bool tn_packed_depthwise_in_place(const tn_choice *choice);

/* Returns why no solver that reads panels serves the problem, or NULL. */
const char *tn_filters_refuse(tenon_context *context, const filter_problem *problem);

/* Functions as declared in tn_family. */
tn_awkward_function tn_gemm_packed_awkward, tn_conv_packed_awkward;

#endif
