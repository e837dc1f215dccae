/*
 * Convolution run backwards: the gradients of its image (which is also what a transposed
 * convolution computes), of its filters and of its bias; and col2im. Each is a family of its own in
 * dispatch.
 *
 * The gradients and the transposed convolution are given a conv_problem, that of the convolution
 * whose direction is reversed, with the same names: x is the image, y what the convolution makes of
 * it. Which of x, y and w is written is the family's; the residual and the bias are shaped like it.
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

/* The canonical problem of col2im; strides of col[n, c, t, r, s, o, p, q] and x[n, c, d, h, w].
 * Within a convolution there is an epilogue, and col is in the workspace. */
typedef struct col2im_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation; /* tenon_activation_kind */
    uint32_t flags;      /* CONV_* of conv/args.h */
    uint32_t col_acc;    /* col holds what sums are kept in, not dtype */
    uint8_t operand[8];  /* by COL2IM_COL ... COL2IM_X: which operand of the call */
    int64_t n, c;
    int64_t col[8], res[CONV_RANK], x[CONV_RANK], bias;
    conv_window window;
} col2im_problem;

/* The canonical problem of the bias's gradient; strides of dy[n, k, o, p, q] and db[k]. */
typedef struct conv_bias_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t adds; /* beta is not 0 */
    int64_t n, k, out[3];
    int64_t y[CONV_RANK], b;
} conv_bias_problem;

extern const tn_family tn_conv_backward_data_family, tn_conv_transpose_family,
    tn_conv_backward_filter_family, tn_conv_backward_bias_family, tn_col2im_family;
extern const tn_solver tn_conv_backward_data_direct, tn_conv_backward_data_pointwise,
    tn_conv_backward_data_col2im_gemm, tn_conv_backward_data_depthwise,
    tn_conv_backward_data_implicit_packed, tn_conv_backward_data_implicit_tiled,
    tn_conv_backward_data_implicit_matrix, tn_conv_backward_data_implicit_wgmma;
extern const tn_solver tn_conv_backward_filter_direct, tn_conv_backward_filter_im2col_gemm,
    tn_conv_backward_filter_pointwise, tn_conv_backward_filter_depthwise,
    tn_conv_backward_filter_implicit_packed, tn_conv_backward_filter_implicit_tiled,
    tn_conv_backward_filter_implicit_matrix, tn_conv_backward_filter_implicit_wgmma;
extern const tn_solver tn_conv_backward_bias_whole, tn_conv_backward_bias_parts;
extern const tn_solver tn_col2im_elements, tn_col2im_rows, tn_col2im_channels;

/* Fill in a problem from views that have been checked one by one. */
tenon_status tn_conv_transpose_canonicalise(const char *caller,
                                            const tenon_conv_transpose_params *params,
                                            const tenon_tensor *x, const tenon_tensor *w,
                                            const tenon_tensor *c, const tenon_tensor *bias,
                                            const tenon_tensor *y, conv_problem *problem);
tenon_status tn_col2im_canonicalise(const char *caller, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    col2im_problem *problem);

/* A gradient with three operands, the last of them the output. */
typedef struct conv_gradient {
    const char *name[3];
    uint8_t tensor[3]; /* CONV_X, CONV_W or CONV_Y of the convolution */
    bool is_transposed;
} conv_gradient;
extern const conv_gradient tn_conv_gradient_of_image, tn_conv_gradient_of_filter,
    tn_conv_transpose_gradient_of_x, tn_conv_transpose_gradient_of_filter;

tenon_status tn_conv_gradient_canonicalise(const char *caller, const conv_gradient *gradient,
                                           const tenon_conv_backward_params *params,
                                           const tenon_tensor *const views[3],
                                           conv_problem *problem);

/* For solvers: */

conv_subfilter tn_conv_find_subfilter(const conv_window *window);

/* The type in which a tensor's elements are summed, as a type of tensors. */
tenon_dtype tn_conv_sum_type(uint32_t dtype);

/* Whether that is another: a tensor of 16 bits. */
bool tn_conv_is_converted(uint32_t dtype);

/* A tensor's box of five dimensions, and a dense array of it in the workspace, in what its elements
 * are summed in. */
typedef struct conv_packing {
    uint32_t dtype;  /* the tensor's */
    uint8_t operand; /* of the run */
    bool adds;       /* unpacking adds beta times what the tensor holds */
    int64_t shift;   /* of the tensor's first element, in its elements */
    int64_t packed;  /* where the array begins in the workspace, in its elements */
    int64_t shape[5], stride[5];
    int64_t parts; /* unpacking adds up so many arrays, one after the other; 0 is 1 */
} conv_packing;
/* Makes dimension `d` the last, which is packed most tightly. */
void tn_conv_move_last(conv_packing *packing, int d);

tenon_status tn_conv_record_pack(const char *caller, tn_recording *recording,
                                 const conv_packing *packing);
tenon_status tn_conv_record_unpack(const char *caller, tn_recording *recording,
                                   const conv_packing *packing);

/* As tn_operation has them. */
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

/* As tn_family has them. */
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

/* col2im as the end of a convolution, which is no public operation: with an epilogue, and with
 * columns that may be in the type of sums. Its operands are COL2IM_COL ... COL2IM_X. */
typedef struct conv_folding_params {
    tenon_im2col_params columns;
    tenon_epilogue epilogue;
} conv_folding_params;
extern const tn_operation tn_conv_folding;

#endif
