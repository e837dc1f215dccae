/* Convolution on matrix units (implicit/matrix.c), and its copies of factors whose channels are
 * not contiguous (implicit/matrix_copies.c). */
#ifndef TN_OPS_CONV_IMPLICIT_MATRIX_H
#define TN_OPS_CONV_IMPLICIT_MATRIX_H

#include "elementwise/transpose_args.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/gemm/matrix.h"

/* Tuning parameters: those of gemm/mma except the slices, then the copies, and the slices of the
 * filters' gradient. */
enum {
    CONV_MATRIX_PACK = MATRIX_PARAMETERS,
    CONV_MATRIX_PARAMETERS,
    CONV_MATRIX_SLICES = CONV_MATRIX_PARAMETERS,
    CONV_MATRIX_SPLIT_PARAMETERS
};
extern const tn_parameter tn_conv_matrix_parameters[CONV_MATRIX_SPLIT_PARAMETERS];

/* A size for the image's gradient at which pixels are loaded as vectors. */
#define IN_ORDER "unit=8 stride_w=1 w=40"

/* Awkward cases of these solvers: those of implicit_tiled, and one with a remainder of k that is
 * loaded as aligned vectors if the given problem is. */
#define CONV_MATRIX_AWKWARD TN_CONV_TILED_AWKWARD ";filters=mb+1 depth=1 stride_w=2 s=3 unit=8"
#define CONV_MATRIX_DATA_AWKWARD                                                                   \
    TN_CONV_TILED_DATA_AWKWARD "; channels=mb+1 depth=1 unit=8; channels=mb+1 depth=1 " IN_ORDER
#define CONV_MATRIX_FILTER_AWKWARD                                                                 \
    TN_CONV_TILED_FILTER_AWKWARD "; filters=mb+1 channels=nb/6+2 unit=8"

/* The cases of wgmma all use vectors; `shift` makes their addresses unaligned. */
#define CONV_WGMMA_AWKWARD                                                                         \
    "filters=mb+1 depth=1 stride_w=1 unit=8; filters=mb+1 depth=1 stride_w=2 s=3 unit=8 shift=1"
#define CONV_WGMMA_DATA_AWKWARD                                                                    \
    "channels=mb+1 depth=1 unit=8; channels=mb+1 depth=1 unit=8 shift=1; "                         \
    "channels=mb+1 depth=1 " IN_ORDER
#define CONV_WGMMA_FILTER_AWKWARD                                                                  \
    "filters=mb+1 channels=nb/6+2 unit=8; filters=mb+1 channels=nb/6+2 unit=8 shift=1"

/* A tensor that is copied to the workspace to make its channels contiguous. */
typedef struct conv_copy {
    uint8_t operand;           /* the copied operand: CONV_X, CONV_W or CONV_Y */
    uint8_t matrix;            /* GEMM_A or GEMM_B of the product */
    int64_t stride[CONV_RANK]; /* strides of the copy */
    int64_t elements, at;      /* size of the copy, and its start in the workspace */
    int64_t blocks;            /* work-groups of the copy's launch */
    transpose_args args;
} conv_copy;

#define CONV_MOST_COPIES 2

typedef struct conv_copies {
    int32_t count;
    conv_copy copy[CONV_MOST_COPIES];
} conv_copies;

/* Lays out copies of the factors that cannot be loaded as vectors in place, and returns how the
 * factors are loaded with these copies. A factor that is not contiguous along its rows of pixels
 * or taps is not copied. */
conv_vectors tn_conv_copies_lay_out(const conv_problem *problem, conv_direction direction,
                                    conv_copies *copies);

/* Returns the problem with the copies in place of the copied tensors. */
conv_problem tn_conv_copied(const conv_problem *problem, const conv_copies *copies);

/* Places the copies in the workspace, after the sums of slices. Returns the size of everything. */
uint64_t tn_conv_copies_place(const conv_problem *problem, const conv_tiled_layout *layout,
                              conv_copies *copies);

/* Returns the frame (operand map) of a product that reads the copies instead of the tensors. */
tn_frame tn_conv_copies_frame(const conv_problem *problem, const conv_copies *copies);

tn_work tn_conv_copy_work(uint32_t dtype, const conv_copy *copy);
tenon_status tn_conv_record_copies(const char *caller, tn_recording *recording,
                                   const conv_problem *problem, const conv_copies *copies);

#endif
