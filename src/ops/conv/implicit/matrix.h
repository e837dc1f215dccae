/* Convolution on matrix units (implicit_matrix.c), and the copies that it makes of factors whose
 * channels do not lie side by side (implicit_matrix_copies.c). */
#ifndef TN_OPS_CONV_IMPLICIT_MATRIX_H
#define TN_OPS_CONV_IMPLICIT_MATRIX_H

#include "elementwise/transpose_args.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/gemm/matrix.h"

/* Tuning parameters: those of gemm/mma but for the slices, the copies, and the filters' gradient's
 * slices. */
enum {
    CONV_MATRIX_PACK = MATRIX_PARAMETERS,
    CONV_MATRIX_PARAMETERS,
    CONV_MATRIX_SLICES = CONV_MATRIX_PARAMETERS,
    CONV_MATRIX_SPLIT_PARAMETERS
};
extern const tn_parameter tn_conv_matrix_parameters[CONV_MATRIX_SPLIT_PARAMETERS];

/* Of the image's gradient, one whose pixels come by vectors. */
#define IN_ORDER "unit=8 stride_w=1 w=40"

/* Their awkward cases: those of implicit_tiled, and one that comes by aligned vectors where the
 * problem at hand does, with a tail of k. */
#define CONV_MATRIX_AWKWARD TN_CONV_TILED_AWKWARD ";filters=mb+1 depth=1 stride_w=2 s=3 unit=8"
#define CONV_MATRIX_DATA_AWKWARD                                                                   \
    TN_CONV_TILED_DATA_AWKWARD "; channels=mb+1 depth=1 unit=8; channels=mb+1 depth=1 " IN_ORDER
#define CONV_MATRIX_FILTER_AWKWARD                                                                 \
    TN_CONV_TILED_FILTER_AWKWARD "; filters=mb+1 channels=nb/6+2 unit=8"

/* wgmma's are all of vectors; of the second one their addresses are not aligned. */
#define CONV_WGMMA_AWKWARD                                                                         \
    "filters=mb+1 depth=1 stride_w=1 unit=8; filters=mb+1 depth=1 stride_w=2 s=3 unit=8 shift=1"
#define CONV_WGMMA_DATA_AWKWARD                                                                    \
    "channels=mb+1 depth=1 unit=8; channels=mb+1 depth=1 unit=8 shift=1; "                         \
    "channels=mb+1 depth=1 " IN_ORDER
#define CONV_WGMMA_FILTER_AWKWARD                                                                  \
    "filters=mb+1 channels=nb/6+2 unit=8; filters=mb+1 channels=nb/6+2 unit=8 shift=1"

/* A tensor that is copied to the workspace with its channels side by side. */
typedef struct conv_copy {
    uint8_t operand;           /* CONV_X, CONV_W or CONV_Y; which it takes the place of */
    uint8_t matrix;            /* GEMM_A or GEMM_B of the product */
    int64_t stride[CONV_RANK]; /* of the copy */
    int64_t elements, at;      /* its size, and where it begins in the workspace */
    int64_t blocks;            /* work-groups */
    transpose_args args;
} conv_copy;

#define CONV_MOST_COPIES 2

typedef struct conv_copies {
    int32_t count;
    conv_copy copy[CONV_MOST_COPIES];
} conv_copies;

/* The copies of the factors that do not come by vectors as they lie, and how they come then. None
 * is made of a factor that is not contiguous along its rows of pixels or taps. */
conv_vectors tn_conv_copies_lay_out(const conv_problem *problem, conv_direction direction,
                                    conv_copies *copies);

/* The problem with the copies in place of what they are of. */
conv_problem tn_conv_copied(const conv_problem *problem, const conv_copies *copies);

/* Gives them their places in the workspace, behind the sums of slices; returns the size of all. */
uint64_t tn_conv_copies_place(const conv_problem *problem, const conv_tiled_layout *layout,
                              conv_copies *copies);

/* Returns the frame of a product that reads the copies instead of the tensors. */
tn_frame tn_conv_copies_frame(const conv_problem *problem, const conv_copies *copies);

tn_work tn_conv_copy_work(uint32_t dtype, const conv_copy *copy);
tenon_status tn_conv_record_copies(const char *caller, tn_recording *recording,
                                   const conv_problem *problem, const conv_copies *copies);

#endif
