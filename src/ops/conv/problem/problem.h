/* Canonical problems of convolution and im2col, with the solvers and families of both. im2col is a
 * separate family in dispatch. */
#ifndef TN_OPS_CONV_PROBLEM_PROBLEM_H
#define TN_OPS_CONV_PROBLEM_PROBLEM_H

#include "conv/args.h"
#include "ops/common/epilogue.h"
#include "ops/post/post.h"

#include <tenon/conv.h>

enum { CONV_X, CONV_W, CONV_C, CONV_BIAS, CONV_Y, CONV_OPERANDS };

/* The terms after the activation (POST_SCALE …) are operands after these. */
#define CONV_POST  CONV_OPERANDS
#define CONV_VIEWS (CONV_POST + POST_TERMS)
enum { IM2COL_X, IM2COL_COL, IM2COL_OPERANDS };

/* Number of dimensions: N, C and the spatial ones. */
#define CONV_RANK 5

/* The canonical problem of a forward convolution: sizes, and the strides of each operand. It has
 * three spatial dimensions. If the caller's images have fewer, the missing ones come first, with
 * one element in the image and in the filter. */
typedef struct conv_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation; /* tenon_activation_kind */
    uint32_t flags;      /* CONV_HAS_C, CONV_HAS_BIAS, CONV_SKIP_XW of conv/args.h */
    uint32_t exact;      /* TENON_CONV_EXACT: no solver may rearrange the sums by transforms */
    /* by CONV_X ... CONV_Y and the terms after the activation: index of the operand in the run */
    uint8_t operand[CONV_VIEWS];
    int64_t n, groups;
    int64_t c, k;           /* channels and filters per group */
    int64_t x[CONV_RANK];   /* strides of x[n, c, d, h, w] */
    int64_t w[CONV_RANK];   /* strides of w[k, c, t, r, s] */
    int64_t res[CONV_RANK]; /* strides of the residual c[n, k, o, p, q] */
    int64_t y[CONV_RANK];
    int64_t bias;
    int64_t post_scale, post_shift; /* strides along the filters */
    int64_t residual[CONV_RANK];    /* strides of the residual after the activation */
    conv_window window;
} conv_problem;

/* The canonical problem of im2col, with strides of x[n, c, d, h, w] and col[n, c, t, r, s, o, p,
 * q]. */
typedef struct im2col_problem {
    tn_problem head;
    uint64_t dtype;
    int64_t n, c;
    int64_t x[CONV_RANK], col[8];
    conv_window window;
} im2col_problem;

/* The `paths` function of tn_family for all families with a conv_problem. */
uint64_t tn_conv_paths(const tn_problem *problem);

/* Convolution without and with terms after the activation. */
extern const tn_family tn_conv_family, tn_conv_post_family, tn_im2col_family;
extern const tn_solver tn_conv_two_steps, tn_conv_direct, tn_conv_im2col_gemm, tn_conv_pointwise,
    tn_conv_implicit_packed, tn_conv_implicit_tiled, tn_conv_implicit_matrix,
    tn_conv_implicit_wgmma, tn_conv_cpu_direct, tn_conv_depthwise, tn_conv_winograd2,
    tn_conv_winograd4, tn_conv_winograd2_gemm, tn_conv_winograd4_gemm;
extern const tn_solver tn_im2col_rows, tn_im2col_channels;

/* The tensors of a convolution, in any direction, with their names in the caller's operation. */
typedef struct conv_views {
    const char *x_name, *w_name, *y_name;
    const tenon_tensor *x, *w, *y;
    bool is_transposed; /* y is given, and x may have output padding that no tap reaches */
} conv_views;

/* Checks that the shapes match, and fills in a problem except its epilogue and the flags of
 * operands that are read. */
tenon_status tn_conv_take_shapes(const char *caller, int64_t groups,
                                 const tenon_conv_geometry *geometry, const conv_views *views,
                                 conv_problem *problem);

/* Returns true if the last dimension of x, and not its second, has the number of channels that the
 * filters require. The views need not be valid. */
bool tn_conv_channels_last(const tenon_tensor *x, const tenon_tensor *w, int64_t groups);

/* Steps of tn_conv_take_shapes. `dim` counts the caller's spatial dimensions. */
tenon_status tn_conv_check_geometry(const char *caller, const tenon_conv_geometry *geometry,
                                    uint32_t dim);
/* Returns the exclusive upper limit of a transposed convolution's output padding. */
int64_t tn_conv_padding_end(const tenon_conv_geometry *geometry, uint32_t dim);
tenon_status tn_conv_check_image_rank(const char *caller, const char *name,
                                      const tenon_tensor *view);
tenon_status tn_conv_check_rank(const char *caller, const char *name, const tenon_tensor *view,
                                uint32_t rank);

/* Sets the strides of N, C and three spatial dimensions; those of dimensions of size 1 are 0. */
void tn_conv_copy_strides(int64_t to[CONV_RANK], const tenon_tensor *view);

/* Fills in the epilogue and its operands, for an output with the shape of y or (reversed) of x; c
 * and bias may be NULL. */
tenon_status tn_conv_take_epilogue(const char *caller, const tenon_epilogue *epilogue,
                                   const tenon_tensor *c, const tenon_tensor *bias,
                                   const tenon_tensor *output, conv_problem *problem);

/* Fills in the terms after the activation, which may be NULL; `output` is as above. */
tenon_status tn_conv_take_post(const char *caller, const tenon_tensor *const term[POST_TERMS],
                               const tenon_tensor *output, conv_problem *problem);

/* The solver two_steps of convolution and, if `is_transposed`, of transposed convolution. Makes its
 * steps; the child's problem is written to `child`, to which they point. */
tn_two_steps tn_conv_two_steps_of(const conv_problem *problem, bool is_transposed,
                                  const tn_family *family, conv_problem *child);

/* Returns the problem flags for which of c, bias and the products the epilogue reads. */
uint32_t tn_conv_flags(const tenon_epilogue *epilogue, const tenon_tensor *c,
                       const tenon_tensor *bias);

/* Fill in a problem from views that have been checked one by one; c and bias may be NULL. */
tenon_status tn_conv_canonicalize(const char *caller, const tenon_conv_params *params,
                                  const tenon_tensor *x, const tenon_tensor *w,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *y, conv_problem *problem);
tenon_status tn_im2col_canonicalize(const char *caller, const tenon_im2col_params *params,
                                    const tenon_tensor *x, const tenon_tensor *col,
                                    im2col_problem *problem);

/* The operands of a convolution, of either direction, in its description. */
#define CONV_FIVE_OPERANDS(shape_of_y)                                                             \
    {.name = "x", .image = true}, {.name = "w", .image = true},                                    \
        {.name = "c", .image = true, .optional = true, .role = TN_INPUT_OR_SAME},                  \
        {.name = "bias", .optional = true},                                                        \
    {                                                                                              \
        .name = "y", .image = true, .role = TN_OUTPUT, .shape = (shape_of_y)                       \
    }

/* Shapes of y, of col and of db (tn_operand_info.shape): output_shape.c. */
tn_shape_function tn_conv_shape, tn_conv_transpose_shape, tn_im2col_shape, tn_conv_bias_shape;

/* Bits of the operands that are images like x or like y. */
#define CONV_IMAGES (1 << CONV_X | 1 << CONV_C | 1 << CONV_Y | 1 << (CONV_POST + POST_RESIDUAL))

/* Alternatives of an operation (dispatch/operation.h): the channels of its images first or last,
 * and those of its filters. Both arguments are bits of operands. */
#define CONV_ALTERNATIVES(images, filters)                                                         \
    {"the images had their channels last", images, TN_ORDER_CHANNELS_LAST, NULL},                  \
        {"the images and the filters had their channels last", (images) | (filters),               \
         TN_ORDER_CHANNELS_LAST, NULL},                                                            \
        {"the images had their channels first", images, TN_ORDER_AS_VIEWED, NULL},                 \
        {"the images and the filters had their channels first", (images) | (filters),              \
         TN_ORDER_AS_VIEWED, NULL},                                                                \
    {                                                                                              \
        NULL, 0, TN_ORDER_AS_VIEWED, NULL                                                          \
    }

/* Checks a call with x, w, c, bias and y, of a convolution or a transposed one, except for the
 * shapes. */
tenon_status tn_conv_check_call(const tn_call *call, const tenon_epilogue *epilogue);

/* Fills in the terms after the activation of such a call, whose problem has its shapes. */
tenon_status tn_conv_prepare_post(tn_call *call, conv_problem *problem);

/* Functions as declared in tn_operation and tn_family. */
tenon_status tn_conv_prepare(const void *given, tn_call *call, tn_problem *head, bool *empty);
tenon_status tn_im2col_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty);
bool tn_conv_reference(const void *params, const tenon_tensor *const *views, tn_bounded *expected);
bool tn_conv_post_reference(const void *params, const tenon_tensor *const *views,
                            tn_bounded *expected);
bool tn_im2col_reference(const void *params, const tenon_tensor *const *views,
                         tn_bounded *expected);
bool tn_conv_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     struct tn_case *c);
bool tn_im2col_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       struct tn_case *c);

/* The reference of a canonical problem with the given x, w, c, bias and y. The bounds hold for
 * every solver except Winograd's; if `solver` names one of these, its own bounds are used. */
bool tn_conv_problem_reference(const conv_problem *problem, const tenon_epilogue *epilogue,
                               const char *solver, const tenon_tensor *const views[CONV_OPERANDS],
                               tn_bounded *expected);

/* Applies the terms after the activation to the results of a convolution's reference. `term` has
 * the views of the call, in which those of a channel have rank 1. */
bool tn_conv_apply_post(const tenon_tensor *output, const tenon_tensor *const term[POST_TERMS],
                        tn_bounded *expected);

/* Returns an element that is the sum of `count` products. `sum` has their sum as its value, and
 * the sum of their magnitudes as its bound; `added` is beta · c, and `bias` the bias.
 * docs/numerics.md derives the bound. */
tn_bounded tn_conv_element(uint32_t dtype, const tenon_epilogue *epilogue, tn_bounded sum,
                           double count, double added, double bias);

/* Completes the launch of a kernel with the operands x, w, c, bias and y: operands, offsets and
 * the epilogue's scalars. `args` begins with a conv_args, which conv_post_args follow if the
 * problem has terms after the activation; the terms are then operands after y. c and bias are read
 * only if the problem has them. An operand that is not read may be absent; `result` (CONV_X or
 * CONV_Y) is passed in its place. `patches` has room for CONV_PATCHES. */
#define CONV_PATCHES (CONV_VIEWS + TN_EPILOGUE_SCALARS)
void tn_conv_direct_launch(const conv_problem *problem, const bool reads[CONV_OPERANDS], int result,
                           tn_launch *launch, conv_args *args, tn_patch *patches);

/* Sets the build options of a solver that needs none of its own: types, activation and terms. */
void tn_conv_direct_options(tenon_context *context, const conv_problem *problem, tn_choice *choice);

/* Returns the work of all multiply-adds with one work-item per element. */
tn_work tn_conv_direct_work(const conv_problem *problem);

/* Returns the number of taps of a filter in one channel; the second returns the number of pixels of
 * an output image. */
int64_t tn_window_taps(const conv_window *window);
int64_t tn_window_pixels(const conv_window *window);

/* Returns true if the image has no elements; it may have no memory then. */
bool tn_window_empty(const conv_window *window);

/* Returns the number of elements of x in one image; the second returns the number of multiply-adds.
 * Doubles avoid overflow. */
double tn_conv_image_elements(const conv_problem *problem);
double tn_conv_work(const conv_problem *problem);

#endif
