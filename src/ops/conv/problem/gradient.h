/*
 * Reversed convolution: the gradients of the image (which the transposed convolution also
 * computes), of the filters and of the bias, and col2im. Each is a separate family in dispatch.
 *
 * The problem of a gradient or a transposed convolution is a conv_problem, that of the convolution
 * that is reversed, with the same names: x is the image, y its result. The family determines which
 * of x, y and w is written; the residual and the bias have the shape of that tensor.
 */
#ifndef TN_OPS_CONV_PROBLEM_GRADIENT_H
#define TN_OPS_CONV_PROBLEM_GRADIENT_H

#include "conv/gradient_args.h"
#include "dispatch/operation.h"
#include "ops/conv/problem/problem.h"
#include "ops/gemm/internal.h"

#include <tenon/conv_backward.h>
#include <tenon/conv_transpose.h>

enum { COL2IM_COL, COL2IM_RES, COL2IM_BIAS, COL2IM_X, COL2IM_OPERANDS };

/* The canonical problem of col2im, with strides of col[n, c, t, r, s, o, p, q] and x[n, c, d, h,
 * w]. Within a convolution it has an epilogue, and col is in the workspace. */
typedef struct col2im_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation; /* tenon_activation_kind */
    uint32_t flags;      /* CONV_* of conv/args.h */
    uint32_t col_acc;    /* col has the accumulator type, not dtype */
    uint8_t operand[8];  /* by COL2IM_COL ... COL2IM_X: index of the operand in the call */
    int64_t n, c;
    int64_t col[8], res[CONV_RANK], x[CONV_RANK], bias;
    conv_window window;
} col2im_problem;

/* The canonical problem of the bias gradient, with strides of dy[n, k, o, p, q] and db[k]. */
typedef struct conv_bias_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t adds; /* beta is not 0 */
    int64_t n, k, out[3];
    int64_t y[CONV_RANK], b;
} conv_bias_problem;

extern const tn_family tn_conv_backward_data_family, tn_conv_transpose_family,
    tn_conv_transpose_post_family, tn_conv_backward_filter_family, tn_conv_backward_bias_family,
    tn_col2im_family;
extern const tn_solver tn_conv_transpose_two_steps, tn_conv_backward_data_direct,
    tn_conv_backward_data_pointwise, tn_conv_backward_data_col2im_gemm,
    tn_conv_backward_data_depthwise, tn_conv_backward_data_implicit_packed,
    tn_conv_backward_data_implicit_tiled, tn_conv_backward_data_implicit_matrix,
    tn_conv_backward_data_implicit_wgmma;
extern const tn_solver tn_conv_backward_filter_direct, tn_conv_backward_filter_im2col_gemm,
    tn_conv_backward_filter_pointwise, tn_conv_backward_filter_depthwise,
    tn_conv_backward_filter_implicit_packed, tn_conv_backward_filter_implicit_tiled,
    tn_conv_backward_filter_implicit_matrix, tn_conv_backward_filter_implicit_wgmma;
extern const tn_solver tn_conv_backward_bias_whole, tn_conv_backward_bias_parts;
extern const tn_solver tn_col2im_elements, tn_col2im_rows, tn_col2im_channels;

/* Fill in a problem from views that have been checked one by one. */
tenon_status tn_conv_transpose_canonicalize(const char *caller,
                                            const tenon_conv_transpose_params *params,
                                            const tenon_tensor *x, const tenon_tensor *w,
                                            const tenon_tensor *c, const tenon_tensor *bias,
                                            const tenon_tensor *y, conv_problem *problem);
tenon_status tn_col2im_canonicalize(const char *caller, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    col2im_problem *problem);

/* A gradient with three operands, the last of which is the output. */
typedef struct conv_gradient {
    const char *name[3];
    uint8_t tensor[3]; /* CONV_X, CONV_W or CONV_Y of the convolution */
    bool is_transposed;
} conv_gradient;
extern const conv_gradient tn_conv_gradient_of_image, tn_conv_gradient_of_filter,
    tn_conv_transpose_gradient_of_x, tn_conv_transpose_gradient_of_filter;

tenon_status tn_conv_gradient_canonicalize(const char *caller, const conv_gradient *gradient,
                                           const tenon_conv_backward_params *params,
                                           const tenon_tensor *const views[3],
                                           conv_problem *problem);

/* For solvers: */

conv_subfilter tn_conv_find_subfilter(const conv_window *window);

/* Returns the type in which a tensor's elements are summed, as a tensor type. */
tenon_dtype tn_conv_sum_type(uint32_t dtype);

/* Returns true if the accumulator type differs, i.e. the tensor has 16-bit elements. */
bool tn_conv_is_converted(uint32_t dtype);

/* A five-dimensional box of a tensor, and its dense copy in the workspace, in the accumulator type.
 */
typedef struct conv_packing {
    uint32_t dtype;  /* type of the tensor */
    uint8_t operand; /* operand of the run */
    bool adds;       /* unpacking adds beta times the tensor's contents */
    int64_t shift;   /* offset of the box in the tensor, in elements of the tensor */
    int64_t packed;  /* start of the copy in the workspace, in elements of the copy */
    int64_t shape[5], stride[5];
    int64_t parts; /* number of consecutive copies that unpacking adds up; 0 means 1 */
} conv_packing;
/* Makes dimension `d` the last one, which is contiguous in the copy. */
void tn_conv_move_last(conv_packing *packing, int d);

tenon_status tn_conv_record_pack(const char *caller, tn_recording *recording,
                                 const conv_packing *packing);
tenon_status tn_conv_record_unpack(const char *caller, tn_recording *recording,
                                   const conv_packing *packing);

/* Functions as declared in tn_operation. */
tenon_status tn_conv_backward_data_prepare(const void *params, tn_call *call, tn_problem *problem,
                                           bool *empty);
tenon_status tn_conv_backward_filter_prepare(const void *params, tn_call *call, tn_problem *problem,
                                             bool *empty);
tenon_status tn_conv_backward_bias_prepare(const void *given, tn_call *call, tn_problem *problem,
                                           bool *empty);
tenon_status tn_conv_transpose_prepare(const void *given, tn_call *call, tn_problem *problem,
                                       bool *empty);
tenon_status tn_conv_transpose_backward_data_prepare(const void *params, tn_call *call,
                                                     tn_problem *problem, bool *empty);
tenon_status tn_conv_transpose_backward_filter_prepare(const void *params, tn_call *call,
                                                       tn_problem *problem, bool *empty);
tenon_status tn_col2im_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty);
bool tn_conv_backward_data_reference(const void *params, const tenon_tensor *const *views,
                                     tn_bounded *expected);
bool tn_conv_backward_filter_reference(const void *params, const tenon_tensor *const *views,
                                       tn_bounded *expected);
bool tn_conv_backward_bias_reference(const void *params, const tenon_tensor *const *views,
                                     tn_bounded *expected);
bool tn_conv_transpose_post_reference(const void *params, const tenon_tensor *const *views,
                                      tn_bounded *expected);
bool tn_conv_transpose_reference(const void *params, const tenon_tensor *const *views,
                                 tn_bounded *expected);
bool tn_conv_transpose_backward_data_reference(const void *params, const tenon_tensor *const *views,
                                               tn_bounded *expected);
bool tn_conv_transpose_backward_filter_reference(const void *params,
                                                 const tenon_tensor *const *views,
                                                 tn_bounded *expected);
bool tn_col2im_reference(const void *params, const tenon_tensor *const *views,
                         tn_bounded *expected);
bool tn_conv_folding_reference(const void *params, const tenon_tensor *const *views,
                               tn_bounded *expected);

/* Functions as declared in tn_family. */
bool tn_conv_backward_data_awkward(const tn_problem *problem, const tn_choice *choice,
                                   uint32_t number, struct tn_case *c);
bool tn_conv_backward_filter_awkward(const tn_problem *problem, const tn_choice *choice,
                                     uint32_t number, struct tn_case *c);
bool tn_conv_backward_bias_awkward(const tn_problem *problem, const tn_choice *choice,
                                   uint32_t number, struct tn_case *c);
bool tn_conv_transpose_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                               struct tn_case *c);
bool tn_col2im_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       struct tn_case *c);

/* col2im as the last step of a convolution, which is not a public operation: it has an epilogue,
 * and its columns may be in the accumulator type. Its operands are COL2IM_COL ... COL2IM_X. */
typedef struct conv_folding_params {
    tenon_im2col_params columns;
    tenon_epilogue epilogue;
} conv_folding_params;
extern const tn_operation tn_conv_folding;

#endif
