/* Test cases of convolutions: a problem that can be run in each of several directions with
 * fixtures. */
#ifndef TEST_OPS_CONV_CASE_H
#define TEST_OPS_CONV_CASE_H

#include "fixture.h"

#include "ops/conv/problem/problem.h"

/* Layouts for any rank: channels before or after the spatial dimensions, N innermost, or W
 * outermost with gaps. */
typedef enum image_layout { NCHW, NHWC, HWCN, ODD, IMAGE_LAYOUTS } image_layout;
typedef enum conv_residual { NO_RESIDUAL, FULL_RESIDUAL, CHANNEL_RESIDUAL, IN_PLACE } conv_residual;

typedef enum conv_direction {
    FORWARD,              /* tenon_conv_forward */
    OF_IMAGE,             /* tenon_conv_backward_data */
    OF_FILTER,            /* tenon_conv_backward_filter */
    OF_BIAS,              /* tenon_conv_backward_bias */
    TRANSPOSED,           /* tenon_conv_transpose_forward, with y as its x */
    TRANSPOSED_OF_IMAGE,  /* tenon_conv_transpose_backward_data */
    TRANSPOSED_OF_FILTER, /* tenon_conv_transpose_backward_filter */
    DIRECTIONS
} conv_direction;

/* All directions that are gradients. */
#define GRADIENTS 5
extern const conv_direction conv_gradients[GRADIENTS];

/* All directions use beta. The rest of the epilogue, the bias and the residual apply only to the
 * convolution and the transposed convolution. */
typedef struct conv_case {
    uint32_t spatial;      /* dimensions, 1 to 3 */
    int64_t n, c, size[3]; /* the image */
    int64_t k, filter[3];  /* the filters */
    int64_t groups;
    tenon_conv_geometry geometry;
    int64_t beyond[3]; /* number of outputs omitted in each dimension; for a transposed convolution,
                          the output padding in whole strides */
    image_layout x, y, w;
    int64_t offset;
    conv_residual residual;
    bool bias;
    double alpha, beta;
    tenon_activation activation;
} conv_case;

/* A small problem in two spatial dimensions, and the same with other members. */
#define SIMPLE_CONV                                                                                \
    .spatial = 2, .n = 2, .c = 4, .size = {9, 11, 1}, .k = 6, .filter = {3, 3, 1}, .groups = 1,    \
    .geometry = TENON_CONV_GEOMETRY_INIT, .alpha = 1
#define conv_like(...) TENON_LITERAL(conv_case, SIMPLE_CONV, __VA_ARGS__)
extern const conv_case simple_conv;
extern const tenon_conv_geometry no_geometry; /* the values of TENON_CONV_GEOMETRY_INIT */

/* Returns simple_conv with other sizes: n, c, height, width, k, and the filter's height and
 * width. */
conv_case conv_of_sizes(const int64_t sizes[7]);

/* Sets the padding of rows and columns. */
void conv_pad(conv_case *p, int64_t top, int64_t bottom, int64_t left, int64_t right);

/* Returns the view of a tensor N C with `spatial` dimensions of `size`. */
tenon_tensor image_view(tenon_dtype dtype, image_layout layout, uint32_t spatial, int64_t n,
                        int64_t c, const int64_t *size, int64_t offset);

/* Returns true if the direction supports these sizes: a transposed convolution has no output for an
 * empty x. */
bool conv_takes(conv_direction direction, const conv_case *p);

/* Begin the call; fill its operands as the judge requires; do both. Operands that must not be read
 * remain poisoned. */
void conv_begin(test_fixture *f, conv_direction direction, const conv_case *p, tenon_dtype dtype);
void conv_fill(test_fixture *f, conv_direction direction, const conv_case *p, test_judge judge,
               test_random *random);
void conv_make(test_fixture *f, conv_direction direction, const conv_case *p, tenon_dtype dtype,
               test_judge judge, test_random *random);

/* Sets a random element of an operand to NaN or an infinity, depending on `number`. */
void conv_spoil(test_fixture *f, uint32_t operand, int number, test_random *random);

/* Run every solver on random reals and, if the result can be exact, on integers: in one type (with
 * emulated units in another), in every type, or, for large numbers of cases, in a random type. */
void conv_check_typed(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                      test_random *random);
void conv_check(conv_direction direction, const conv_case *p, test_random *random);
void conv_check_once(conv_direction direction, const conv_case *p, test_random *random);

/* Runs these solvers on reals and integers (test_finish_by). */
void conv_check_by(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                   const char *const *solvers, test_random *random);

/* Runs the automatic choice on reals. */
void conv_run_once(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                   test_random *random);

/* Returns a case with random shape, geometry and layouts in one to three dimensions and few
 * multiply-adds. */
conv_case random_conv(test_random *random);

#endif
