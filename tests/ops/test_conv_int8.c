/*
 * Tests tenon_conv_forward for i8 and u8 against its reference, and the reference against the
 * definition: every solver by name and the automatic choice; types, scales, zero points, layouts.
 */
#include "conv_case.h"
#include "gemm_case.h"

#include "ops/conv/int8/int8.h"
#include "ops/registry.h"

static const tenon_dtype bytes[] = {TENON_DTYPE_I8, TENON_DTYPE_U8};
/* A convolution with types, scales and zero points. */
typedef struct int8_case {
    conv_case conv;
    tenon_dtype x, w, y;
    uint32_t vectors; /* bit i: vector i is present, if the type of y allows it */
    bool per_filter;  /* those of w and y have an element for each filter */
    bool bias_i32;
} int8_case;

static bool is_byte(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 || dtype == TENON_DTYPE_U8;
}

/* Returns true if a result of this type takes the vector. */
static bool takes(tenon_dtype y, int vector)
{
    if (vector == INT8_SCALE_D || vector == INT8_ZERO_D)
        return is_byte(y);
    return vector >= INT8_ZERO_A || y != TENON_DTYPE_I32;
}

static void set_params(test_fixture *f, const int8_case *p)
{
    tenon_conv_params *params = test_params(f, tenon_conv_params);
    const bool whole = p->y == TENON_DTYPE_I32;
    params->groups = p->conv.groups;
    params->geometry = p->conv.geometry;
    params->epilogue.alpha = whole ? 1 : p->conv.alpha;
    params->epilogue.beta = p->conv.residual == NO_RESIDUAL ? 0 : whole ? 1 : p->conv.beta;
    params->epilogue.activation = p->conv.activation;
}

static void set_vectors(test_fixture *f, const int8_case *p)
{
    static const int of[] = {CONV_X, CONV_W, CONV_Y};
    for (int i = 0; i < INT8_VECTORS; i++) {
        const int64_t count = p->per_filter && i % 3 != 0 ? p->conv.k : 1;
        const tenon_dtype type = i < INT8_ZERO_A ? TENON_DTYPE_F32 : f->c.views[of[i % 3]].dtype;
        if ((p->vectors >> i & 1) == 0 || !takes(p->y, i))
            continue;
        f->c.views[INT8_VECTOR(i)] =
            test_view(type, TEST_STRIDED, false, count == 1 ? 0 : 1, &count, i);
    }
}

static void begin(test_fixture *f, const int8_case *p)
{
    const conv_case *c = &p->conv;
    const tenon_dtype real = is_byte(p->y) ? TENON_DTYPE_F32 : p->y;
    int64_t out[3];
    for (uint32_t d = 0; d < c->spatial; d++)
        out[d] = tenon_conv_output_size(&c->geometry, d, c->size[d], c->filter[d]);
    test_begin(f, &tn_operation_conv_int8);
    set_params(f, p);
    f->c.views[CONV_X] = image_view(p->x, c->x, c->spatial, c->n, c->c, c->size, c->offset);
    f->c.views[CONV_W] =
        image_view(p->w, c->w, c->spatial, c->k, c->c / c->groups, c->filter, c->offset);
    f->c.views[CONV_Y] = image_view(p->y, c->y, c->spatial, c->n, c->k, out, c->offset);
    if (c->residual == FULL_RESIDUAL)
        f->c.views[CONV_C] = image_view(real, c->x, c->spatial, c->n, c->k, out, 1);
    if (c->bias)
        f->c.views[CONV_BIAS] =
            test_view(p->bias_i32 ? TENON_DTYPE_I32 : real, TEST_STRIDED, false, 1, &c->k, 1);
    set_vectors(f, p);
}

/* Returns false for y, and for operands that are multiplied by 0: they remain poisoned. */
static bool is_read(test_fixture *f, uint32_t operand)
{
    const tenon_epilogue *epilogue = &test_params(f, tenon_conv_params)->epilogue;
    if (operand == CONV_C)
        return epilogue->beta != 0;
    if (operand == CONV_BIAS || operand == INT8_VECTOR(INT8_SCALE_D) ||
        operand == INT8_VECTOR(INT8_ZERO_D))
        return true;
    return operand != CONV_Y && epilogue->alpha != 0;
}

/* Runs the automatic choice, or every solver, on values of the whole range, and on those whose
 * results are exact. */
static void check_by(const int8_case *p, test_extent extent, test_random *random)
{
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        test_fixture f;
        begin(&f, p);
        test_make(&f);
        f.judge = (test_judge)judge;
        for (uint32_t i = 0; i < INT8_OPERANDS; i++)
            if (test_operand(&f, i) != NULL && is_read(&f, i))
                fill_int8_operand(test_operand(&f, i), i, (test_judge)judge, random);
        test_finish(&f, extent);
    }
}

static void check(const int8_case *p, test_random *random)
{
    check_by(p, TEST_ALL, random);
}

#define SIMPLE                                                                                     \
    .conv = {SIMPLE_CONV}, .x = TENON_DTYPE_U8, .w = TENON_DTYPE_I8, .y = TENON_DTYPE_F32,         \
    .vectors = ALL_VECTORS
#define int8_like(...) TENON_LITERAL(int8_case, SIMPLE, __VA_ARGS__)

TEST(every_type)
{
    test_random random = test_random_for(1601);
    for (int pair = 0; pair < 4; pair++)
        for (size_t i = 0; i < INT8_RESULTS; i++) {
            int8_case p =
                int8_like(.x = bytes[pair % 2], .w = bytes[pair / 2], .y = int8_results[i],
                          .per_filter = (pair + (int)i) % 2, .bias_i32 = (pair + (int)i) % 3 == 0);
            p.conv.bias = true;
            p.conv.beta = 0.5;
            p.conv.residual = i % 2 == 0 ? FULL_RESIDUAL : NO_RESIDUAL;
            conv_pad(&p.conv, 1, 0, 2, 1);
            check(&p, &random);
        }
}

TEST(every_vector)
{
    test_random random = test_random_for(1602);
    for (int i = 0; i < INT8_VECTORS; i++)
        for (int per_filter = 0; per_filter < 2; per_filter++) {
            int8_case p =
                int8_like(.y = TENON_DTYPE_I8, .vectors = 1U << i, .per_filter = per_filter != 0);
            conv_pad(&p.conv, 1, 1, 1, 1);
            p.conv.alpha = 0.001;
            check(&p, &random);
        }
}

TEST(layouts_groups_and_pointwise_filters)
{
    test_random random = test_random_for(1603);
    for (int i = 0; i < IMAGE_LAYOUTS * IMAGE_LAYOUTS; i++) {
        int8_case p = int8_like(.per_filter = true);
        p.conv.x = (image_layout)(i % IMAGE_LAYOUTS);
        p.conv.y = (image_layout)(i / IMAGE_LAYOUTS);
        p.conv.w = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
        p.conv.groups = 1 + i % 2;
        p.conv.bias = i % 3 == 0;
        p.conv.offset = i % 4;
        p.y = int8_results[(size_t)i % INT8_RESULTS];
        check(&p, &random);
        p.conv.filter[0] = p.conv.filter[1] = 1;
        p.conv.geometry.stride[0] = 1 + i % 2;
        check(&p, &random);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(1604);
    for (int n = test_problems(30); n > 0; n--) {
        int8_case p =
            int8_like(.conv = random_conv(&random), .x = bytes[n % 2], .w = bytes[n / 2 % 2],
                      .y = int8_results[(size_t)n % INT8_RESULTS],
                      .vectors = (uint32_t)test_between(&random, 0, ALL_VECTORS),
                      .per_filter = test_one_in(&random, 2), .bias_i32 = test_one_in(&random, 2));
        p.conv.activation = (tenon_activation){
            test_one_in(&random, 2) ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_IDENTITY, 0, 0, 0};
        if (p.conv.residual != FULL_RESIDUAL)
            p.conv.residual = NO_RESIDUAL;
        check(&p, &random);
    }
}

/* Tensors without elements: no images, no filters, no channels, or images of height 0. In the last
 * case such images are padded, so that y has elements, to which only padding contributes. */
TEST(empty)
{
    test_random random = test_random_for(1605);
    for (int i = 0; i < 5; i++) {
        int8_case p = int8_like(.y = int8_results[i]);
        *(i == 0 ? &p.conv.n : i == 1 ? &p.conv.k : i == 2 ? &p.conv.c : &p.conv.size[0]) = 0;
        p.conv.bias = i == 2;
        if (i == 4)
            conv_pad(&p.conv, 2, 2, 0, 0);
        check(&p, &random);
    }
}

/* Without a workspace, and with one for a part of the images: the automatic choice, since a forced
 * solver is refused if the limit is too low. */
TEST(small_workspaces)
{
    static const uint64_t limits[] = {0, 128, 3000, 6000};
    test_random random = test_random_for(1606);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int8_case p = int8_like(.per_filter = true);
        p.conv.n = 5;
        test_limit_workspace(limits[i]);
        check_by(&p, TEST_ONCE, &random);
    }
    test_usual_stream();
}

/* Returns the sum of a result by the definition, with plain loops over logical indices. */
static int64_t by_definition(const int8_case *p, const test_fixture *f, const int64_t out[4])
{
    const conv_case *c = &p->conv;
    const test_tensor *x = &f->operands[CONV_X], *w = &f->operands[CONV_W];
    const int64_t zero_x = (int64_t)test_get(&f->operands[INT8_VECTOR(INT8_ZERO_A)], 0),
                  zero_w = (int64_t)test_get(&f->operands[INT8_VECTOR(INT8_ZERO_B)], 0);
    int64_t sum = 0;
    for (int64_t channel = 0; channel < c->c; channel++)
        for (int64_t r = 0; r < c->filter[0]; r++)
            for (int64_t s = 0; s < c->filter[1]; s++) {
                const int64_t h = out[2] - c->geometry.pad_begin[0] + r;
                const int64_t v = out[3] - c->geometry.pad_begin[1] + s;
                if (h < 0 || h >= c->size[0] || v < 0 || v >= c->size[1])
                    continue;
                const int64_t at = ((out[0] * c->c + channel) * c->size[0] + h) * c->size[1] + v;
                const int64_t tap =
                    ((out[1] * c->c + channel) * c->filter[0] + r) * c->filter[1] + s;
                sum += ((int64_t)test_get(x, at) - zero_x) * ((int64_t)test_get(w, tap) - zero_w);
            }
    return sum;
}

TEST(the_reference_is_the_definition)
{
    test_random random = test_random_for(1607);
    int8_case p = int8_like(.y = TENON_DTYPE_I32);
    int64_t out[4] = {0};
    test_fixture f;
    conv_pad(&p.conv, 1, 1, 2, 0);
    begin(&f, &p);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    test_expect(&f);
    const tenon_tensor *y = &f.operands[CONV_Y].view;
    for (int64_t i = 0; i < tenon_tensor_elements(y); i++) {
        assert_int_equal((int64_t)f.expected[i].value, by_definition(&p, &f, out));
        tn_next_index(out, y->shape, 4);
    }
    test_release(&f);
}

/* The first row of the example of QLinearConv in ONNX's documentation: y = 255 - x. */
TEST(known_values)
{
    static const double x[] = {255, 174, 162, 25, 203, 168, 58},
                        y[] = {0, 81, 93, 230, 52, 87, 197};
    test_fixture f;
    test_begin_line(&f,
                    "conv_int8 x=u8:1x1x1x7 w=u8:1x1x1x1 y=u8:1x1x1x7 scale_of_x=f32: "
                    "scale_of_w=f32: scale_of_y=f32: zero_point_of_x=u8: zero_point_of_w=u8: "
                    "zero_point_of_y=u8:",
                    TENON_DTYPE_INVALID);
    test_make(&f);
    for (int i = 0; i < 7; i++)
        test_set(test_operand(&f, CONV_X), i, x[i]);
    test_set(test_operand(&f, CONV_W), 0, 0);
    test_set(test_operand(&f, INT8_VECTOR(INT8_SCALE_A)), 0, 0.00369204697);
    test_set(test_operand(&f, INT8_VECTOR(INT8_SCALE_B)), 0, 0.00172794575);
    test_set(test_operand(&f, INT8_VECTOR(INT8_SCALE_D)), 0, 0.00162681262);
    test_set(test_operand(&f, INT8_VECTOR(INT8_ZERO_A)), 0, 132);
    test_set(test_operand(&f, INT8_VECTOR(INT8_ZERO_B)), 0, 255);
    test_set(test_operand(&f, INT8_VECTOR(INT8_ZERO_D)), 0, 123);
    test_expect(&f);
    for (int i = 0; i < 7; i++)
        assert_true(f.expected[i].value == y[i]);
    f.judge = TEST_BOUND;
    test_finish(&f, TEST_ALL);
}

#define FACTORS "conv_int8 x=u8:1x4x5x6 w=i8:6x4x3x3 "

TEST(refusals)
{
    static const test_refusal refusals[] = {
        {"conv_int8 x=u8:1x4x5x6 w=f32:6x4x3x3 y=f32:1x6x3x4", "w is f32 and x is u8",
         TENON_ERROR_UNSUPPORTED},
        {"conv_int8 x=f32:1x4x5x6 w=i8:6x4x3x3 y=f32:1x6x3x4", "x is f32, must be i8 or u8",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=f64:1x6x3x4", "y is f64", TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=f32:1x6x3x4 scale_of_x=f32:4", "scale of x has shape 4"},
        {FACTORS "y=f32:1x6x3x4 scale_of_w=f32:4", "scale of w has shape 4"},
        {FACTORS "y=i8:1x6x3x4 zero_point_of_y=u8:6", "zero point of y is u8, must be i8",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=i32:1x6x3x4 scale_of_w=f32:6", "scale of w is given, but y is i32",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=f32:1x6x3x4 zero_point_of_y=i8:", "zero point of y is given, but y is f32",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=i32:1x6x3x4 alpha=2", "alpha is 2, must be 1 if y is i32",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=f16:1x6x3x4 bias=f32:6", "bias is f32, must be f16 or i32",
         TENON_ERROR_UNSUPPORTED},
        {FACTORS "y=f32:1x6x3x3", "y"},
    };
    TEST_REFUSE(refusals);
}
