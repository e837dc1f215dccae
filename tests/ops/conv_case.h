/* What the tests of tenon_conv_forward share: problems, their tensors, and their trial on
 * every solver. */
#ifndef TEST_OPS_CONV_CASE_H
#define TEST_OPS_CONV_CASE_H

#include "support.h"

#include "ops/conv/internal.h"

/* Of any rank: channels before or after the spatial dimensions, N innermost, or W outermost with
 * gaps. */
typedef enum image_layout { NCHW, NHWC, HWCN, ODD, IMAGE_LAYOUTS } image_layout;
typedef enum conv_residual { NO_RESIDUAL, FULL_RESIDUAL, CHANNEL_RESIDUAL, IN_PLACE } conv_residual;

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

/* What is expected of conv/winograd2 and conv/winograd4, whose sums are not those of the others. */
typedef struct transformed_sums {
    tn_bounded *expected[2];
    test_judge judge[2];
} transformed_sums;

typedef struct conv_data {
    conv_case problem;
    tenon_dtype dtype;
    test_judge judge;
    test_tensor operands[CONV_OPERANDS];
    tn_bounded *expected;
    transformed_sums *transformed; /* filled as it is asked for */
} conv_data;

/* A tensor N C and so many spatial dimensions of `size`. */
void create_conv_tensor(test_tensor *tensor, tenon_dtype dtype, image_layout layout,
                        uint32_t spatial, int64_t n, int64_t c, const int64_t *size,
                        int64_t offset);

/* Makes the operands, filled for the judge. What must not be read is left poisoned. */
void make_conv(conv_data *data, const conv_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random);
void destroy_conv(conv_data *data);

/* What is expected of the operands as they are now; computed once. */
void compute_conv_reference(conv_data *data);

/* The view of an operand on the device or the host, NULL where it is absent. */
const tenon_tensor *conv_view(const conv_data *data, int operand, bool host);

tenon_conv_params conv_params(const conv_case *p, const char *solver);
test_subject conv_subject(const conv_data *data);

/* Random shapes, geometries and layouts in one to three dimensions, with few multiply-adds. */
conv_case random_conv(test_random *random);

/* Tries its products on emulated matrix units. */
void emulate_conv(const test_subject *subject, const conv_case *p, tenon_dtype dtype,
                  bool is_build);

/* The problem in words; user is a conv_data. The text lasts until the next call. */
const char *describe_conv(const void *user);

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type,
 * or in every type of test_float_types(). */
void check_conv_typed(const conv_case *p, tenon_dtype dtype, test_random *random);
void check_conv(const conv_case *p, test_random *random);

/* In a type by chance: for cases that are many. */
void check_conv_once(const conv_case *p, test_random *random);

#endif
