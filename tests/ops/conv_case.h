/* What the tests of convolutions share: a problem, which is run in one of several directions, on
 * fixtures. */
#ifndef TEST_OPS_CONV_CASE_H
#define TEST_OPS_CONV_CASE_H

#include "fixture.h"

#include "ops/conv/problem/problem.h"

/* Of any rank: channels before or after the spatial dimensions, N innermost, or W outermost with
 * gaps. */
typedef enum image_layout { NCHW, NHWC, HWCN, ODD, IMAGE_LAYOUTS } image_layout;
typedef enum conv_residual { NO_RESIDUAL, FULL_RESIDUAL, CHANNEL_RESIDUAL, IN_PLACE } conv_residual;

typedef enum conv_direction {
    FORWARD,              /* tenon_conv_forward */
    OF_IMAGE,             /* tenon_conv_backward_data */
    OF_FILTER,            /* tenon_conv_backward_filter */
    OF_BIAS,              /* tenon_conv_backward_bias */
    TRANSPOSED,           /* tenon_conv_transpose_forward, y being its x */
    TRANSPOSED_OF_IMAGE,  /* tenon_conv_transpose_backward_data */
    TRANSPOSED_OF_FILTER, /* tenon_conv_transpose_backward_filter */
    DIRECTIONS
} conv_direction;

/* All gradients. */
#define GRADIENTS 5
extern const conv_direction conv_gradients[GRADIENTS];

/* beta is all directions'; the rest of the epilogue, bias and residual are those of the convolution
 * or of the transposed convolution. */
typedef struct conv_case {
    uint32_t spatial;      /* dimensions, 1 to 3 */
    int64_t n, c, size[3]; /* the image */
    int64_t k, filter[3];  /* the filters */
    int64_t groups;
    tenon_conv_geometry geometry;
    int64_t beyond[3]; /* outputs fewer than would fit: a transposed convolution's output padding
                          from the stride on, in strides */
    image_layout x, y, w;
    int64_t offset;
    conv_residual residual;
    bool bias;
    double alpha, beta;
    tenon_activation activation;
} conv_case;

extern const conv_case simple_conv;           /* in two dimensions */
extern const tenon_conv_geometry no_geometry; /* the initialiser's */

/* The simple one with other sizes: n, c, height, width, k, and the filter's height and width. */
conv_case conv_of_sizes(const int64_t sizes[7]);

/* Pads rows and columns by as much at each side. */
void conv_pad(conv_case *p, int64_t top, int64_t bottom, int64_t left, int64_t right);

/* The view of a tensor N C and so many spatial dimensions of `size`. */
tenon_tensor image_view(tenon_dtype dtype, image_layout layout, uint32_t spatial, int64_t n,
                        int64_t c, const int64_t *size, int64_t offset);

/* Whether the direction takes such sizes: a transposed convolution has no output for an empty x. */
bool conv_takes(conv_direction direction, const conv_case *p);

/* The call; its operands, filled for the judge; and both. What must not be read is left poisoned.
 */
void conv_begin(test_fixture *f, conv_direction direction, const conv_case *p, tenon_dtype dtype);
void conv_fill(test_fixture *f, conv_direction direction, const conv_case *p, test_judge judge,
               test_random *random);
void conv_make(test_fixture *f, conv_direction direction, const conv_case *p, tenon_dtype dtype,
               test_judge judge, test_random *random);

/* Sets an element by chance of an operand: NaN or an infinity, by `number`. */
void conv_spoil(test_fixture *f, uint32_t operand, int number, test_random *random);

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type
 * (and emulated units in another), in every type, or in a type by chance, for cases that are many.
 */
void conv_check_typed(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                      test_random *random);
void conv_check(conv_direction direction, const conv_case *p, test_random *random);
void conv_check_once(conv_direction direction, const conv_case *p, test_random *random);

/* Reals and integers by these solvers (test_finish_by). */
void conv_check_by(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                   const char *const *solvers, test_random *random);

/* Reals by the automatic choice. */
void conv_run_once(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                   test_random *random);

/* Random shapes, geometries and layouts in one to three dimensions, with few multiply-adds. */
conv_case random_conv(test_random *random);

#endif
