/* Tests tenon_norm_backward and tenon_norm_inference_backward against their reference, and that
 * reference against finite differences of the forward one. */
#include "norm_case.h"

#include "ops/registry.h"

#include <math.h>

static norm_case backward_case(tenon_norm_kind kind, const int64_t *shape)
{
    norm_case p = norm_case_of(kind, shape);
    p.backward = true;
    return p;
}

TEST(sizes_around_vectors)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 33};
    test_random random = test_random_for(721);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 2; way++) {
            const int64_t rows[] = {sizes[(i * 5 + 3) % 9], sizes[i], 0};
            norm_case p = backward_case(way == 0 ? TENON_NORM_LAYER : TENON_NORM_RMS, rows);
            p.layout[0] = p.layout[1] = i % 2 == 0 ? TEST_ROW : TEST_COL;
            p.layout[5] = p.layout[0];
            p.offset = (int64_t)i % 5;
            norm_check_types(&p, &random);
            const int64_t images[] = {2, sizes[(i * 2 + 1) % 9], sizes[i] + 1, 0};
            p = backward_case(way == 0 ? TENON_NORM_BATCH : TENON_NORM_INSTANCE, images);
            p.layout[0] = p.layout[1] = i % 2 == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
            p.given = way == 0 && i % 3 == 0;
            norm_check_types(&p, &random);
        }
}

TEST(every_layout)
{
    test_random random = test_random_for(722);
    norm_check_layouts(true, &random);
}

TEST(optional_operands)
{
    static const int64_t shape[] = {4, 6, 7, 0};
    test_random random = test_random_for(723);
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (uint32_t mask = 0; mask < 14; mask++) {
            norm_case p = backward_case((tenon_norm_kind)kind, shape);
            p.params.groups = 2;
            p.absent = (mask & 1) << NORM_BACKWARD_GAMMA | (mask >> 1) << NORM_BACKWARD_DX;
            /* At least one gradient is required. */
            if (kind == TENON_NORM_RMS && mask >> 1 == 3)
                continue;
            norm_check(&p, TENON_DTYPE_F32, &random);
            p.given = kind == TENON_NORM_BATCH;
            if (p.given)
                norm_check(&p, TENON_DTYPE_F32, &random);
        }
}

TEST(in_place_and_repeated)
{
    static const int64_t shape[] = {3, 8, 9, 0};
    test_random random = test_random_for(724);
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (int layout = 0; layout < 2; layout++)
            for (int same = 0; same < 3; same++) {
                norm_case p = backward_case((tenon_norm_kind)kind, shape);
                p.params.groups = 2;
                p.params.dimensions = 2;
                p.layout[NORM_BACKWARD_DX] = layout == 0 ? TEST_PITCH : NORM_CHANNELS_LAST;
                p.same = same;
                p.repeats = same != 0 ? 0 : layout == 0 ? 1 : 6;
                norm_check(&p, layout == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_F16, &random);
                p.given = kind == TENON_NORM_BATCH;
                norm_check(&p, TENON_DTYPE_F32, &random);
            }
}

TEST(special_values)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0, 1e-30, 3e4};
    static const int64_t shape[] = {6, 9, 11, 0};
    test_random random = test_random_for(725);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 10; way++) {
            norm_case p = backward_case((tenon_norm_kind)(way / 2), shape);
            test_fixture f;
            p.params.groups = 3;
            p.layout[0] = way % 4 < 2 ? TEST_ROW : NORM_CHANNELS_LAST;
            norm_make(&f, &p, *type, &random);
            for (int64_t n = 0; n < 6; n++)
                test_set(test_operand(&f, way % 2 == 0 ? NORM_BACKWARD_DY : NORM_BACKWARD_X),
                         n * 99 + n * 12 % 99, specials[n]);
            test_finish(&f, TEST_ALL);
        }
}

/* Sums of integers are exact, and so are their quotients by powers of two. */
TEST(integers)
{
    static const int64_t shape[] = {4, 16, 64, 0};
    test_random random = test_random_for(726);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
            for (int layout = 0; layout < 2; layout++) {
                norm_case p = backward_case((tenon_norm_kind)kind, shape);
                p.judge = TEST_EXACT;
                p.params.groups = 4;
                p.params.dimensions = 1 + (uint32_t)layout;
                p.f32_parameters = true;
                p.layout[0] = p.layout[1] = layout == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
                norm_check(&p, *type, &random);
            }
}

/* Large sets; the gradients of parameters alone are also compared exactly. */
TEST(large)
{
    static const struct {
        tenon_norm_kind kind;
        int64_t shape[5];
    } sizes[] = {{TENON_NORM_BATCH, {4, 3, 101, 103, 0}}, {TENON_NORM_BATCH, {3, 70, 1501, 0}},
                 {TENON_NORM_LAYER, {3, 30011, 0}},       {TENON_NORM_RMS, {20011, 37, 0}},
                 {TENON_NORM_GROUP, {2, 6, 70, 61, 0}},   {TENON_NORM_INSTANCE, {1, 2, 50021, 0}}};
    test_random random = test_random_for(727);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 4; way++) {
            norm_case p = backward_case(sizes[i].kind, sizes[i].shape);
            p.params.groups = 3;
            p.layout[0] = way % 2 == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
            p.layout[1] = p.layout[0];
            p.judge = way < 2 ? TEST_BOUND : TEST_EXACT;
            p.absent = way < 2 ? 0 : 1u << NORM_BACKWARD_DX;
            norm_check(&p, TENON_DTYPE_F32, &random);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(728);
    const int count = test_problems(20);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = 0; i < count; i++) {
            const norm_case p = norm_random_case(&random, true);
            test_fixture f;
            norm_make(&f, &p, *type, &random);
            test_finish(&f, TEST_ONCE);
        }
}

#define Y  "x=T:2x6x4 y=T:2x6x4 "
#define DX "x=T:2x6x4 dy=T:2x6x4 dx=T:2x6x4 "
TEST(gradients)
{
    static const char *const calls[][2] = {
        {"norm " Y "gamma=T:4 beta=T:4 mean=T:2x6 rstd=T:2x6 kind=layer",
         "norm_backward " DX "gamma=T:4 mean=T:2x6 rstd=T:2x6 dgamma=T:4 dbeta=T:4"},
        {"norm " Y "gamma=T:4 rstd=T:2x6 kind=rms",
         "norm_backward " DX "gamma=T:4 rstd=T:2x6 dgamma=T:4"},
        {"norm " Y "gamma=T:6 beta=T:6 mean=T:2x3 rstd=T:2x3 kind=group groups=3",
         "norm_backward " DX "gamma=T:6 mean=T:2x3 rstd=T:2x3 dgamma=T:6 dbeta=T:6"},
        {"norm " Y "gamma=T:6 beta=T:6 mean=T:2x6 rstd=T:2x6 kind=instance",
         "norm_backward " DX "gamma=T:6 mean=T:2x6 rstd=T:2x6 dgamma=T:6 dbeta=T:6"},
        {"norm " Y "gamma=T:6 beta=T:6 mean=T:6 rstd=T:6 kind=batch",
         "norm_backward " DX "gamma=T:6 mean=T:6 rstd=T:6 dgamma=T:6 dbeta=T:6"},
        {"norm tenon_norm_inference " Y "gamma=T:6 beta=T:6 mean=T:6 variance=T:6 kind=batch",
         "norm_backward tenon_norm_inference_backward " DX
         "gamma=T:6 mean=T:6 variance=T:6 dgamma=T:6 dbeta=T:6"}};
    test_random random = test_random_for(729);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        test_fixture y, dx;
        test_begin_line(&y, calls[i][0], TENON_DTYPE_F64);
        test_begin_line(&dx, calls[i][1], TENON_DTYPE_F64);
        test_fill_gradients(&y, &dx, &random);
        test_tensor *x = &y.operands[NORM_FORWARD_X];
        for (int64_t e = 0; e < tenon_tensor_elements(&x->view); e++)
            test_set(x, e, test_real(&random, -2, 2));
        test_check_gradients(&y, &dx, 1e-6, 1e-6);
    }
}
