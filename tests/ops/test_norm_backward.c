/* tenon_norm_backward and tenon_norm_inference_backward against their reference, and that against
 * finite differences of the forward one. */
#include "norm_case.h"

#include "ops/registry.h"

#include <math.h>

static norm_case backward_case(tenon_norm_kind kind, const int64_t *shape)
{
    norm_case p = norm_case_of(kind, shape);
    p.backward = true;
    return p;
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 33};
    test_random random = test_random_for(721);
    (void)state;
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

static void every_layout(void **state)
{
    static const int64_t shape[] = {3, 12, 5, 6, 0};
    test_random random = test_random_for(722);
    (void)state;
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (int layout = 0; layout < NORM_LAYOUTS; layout++) {
            norm_case p = backward_case((tenon_norm_kind)kind, shape);
            p.params.groups = 4;
            p.params.dimensions = 1 + (uint32_t)layout % 4;
            p.gap = layout % 2 != 0;
            p.f32_parameters = layout % 2 == 0;
            for (int i = 0; i < NORM_CASE_OPERANDS; i++)
                p.layout[i] = layout;
            norm_check_types(&p, &random);
        }
}

static void optional_operands(void **state)
{
    static const int64_t shape[] = {4, 6, 7, 0};
    test_random random = test_random_for(723);
    (void)state;
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (uint32_t mask = 0; mask < 14; mask++) {
            norm_case p = backward_case((tenon_norm_kind)kind, shape);
            p.params.groups = 2;
            p.absent = (mask & 1) << NORM_BACKWARD_GAMMA | (mask >> 1) << NORM_BACKWARD_DX;
            /* Something must be asked for. */
            if (kind == TENON_NORM_RMS && mask >> 1 == 3)
                continue;
            norm_check(&p, TENON_DTYPE_F32, &random);
            p.given = kind == TENON_NORM_BATCH;
            if (p.given)
                norm_check(&p, TENON_DTYPE_F32, &random);
        }
}

static void in_place_and_repeated(void **state)
{
    static const int64_t shape[] = {3, 8, 9, 0};
    test_random random = test_random_for(724);
    (void)state;
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

static void special_values(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0, 1e-30, 3e4};
    static const int64_t shape[] = {6, 9, 11, 0};
    test_random random = test_random_for(725);
    (void)state;
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

/* Sums of integers are exact, and their quotients by powers of two. */
static void integers(void **state)
{
    static const int64_t shape[] = {4, 16, 64, 0};
    test_random random = test_random_for(726);
    (void)state;
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

/* Gradients of parameters alone, over many elements: bit for bit. */
static void large(void **state)
{
    static const struct {
        tenon_norm_kind kind;
        int64_t shape[5];
    } sizes[] = {{TENON_NORM_BATCH, {4, 3, 101, 103, 0}}, {TENON_NORM_BATCH, {3, 70, 1501, 0}},
                 {TENON_NORM_LAYER, {3, 30011, 0}},       {TENON_NORM_RMS, {20011, 37, 0}},
                 {TENON_NORM_GROUP, {2, 6, 70, 61, 0}},   {TENON_NORM_INSTANCE, {1, 2, 50021, 0}}};
    test_random random = test_random_for(727);
    (void)state;
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

static void random_problems(void **state)
{
    test_random random = test_random_for(728);
    const int count = test_problems(20);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = 0; i < count; i++) {
            const norm_case p = norm_random_case(&random, true);
            test_fixture f;
            norm_make(&f, &p, *type, &random);
            test_finish(&f, TEST_ONCE);
        }
}

/* Host memory for a call in f64, small enough for finite differences. */
enum { COUNT = 2 * 6 * 4 };
typedef struct host_case {
    tenon_norm_params params;
    bool given;
    double x[COUNT], dy[COUNT], gamma[COUNT], beta[COUNT], mean[COUNT], rstd[COUNT];
    tenon_tensor image, parameter, statistic;
} host_case;

static tenon_tensor at(tenon_tensor view, double *memory)
{
    view.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = memory};
    return view;
}

/* L = sum of dy · y; the statistics go to mean and rstd where they are not given. */
static double loss(host_case *c)
{
    tn_bounded results[3 * COUNT]; /* y and, where they are not given, mean and rstd */
    const bool rms = c->params.kind == TENON_NORM_RMS;
    const tenon_tensor x = at(c->image, c->x), gamma = at(c->parameter, c->gamma),
                       beta = at(c->parameter, c->beta), m = at(c->statistic, c->mean),
                       r = at(c->statistic, c->rstd);
    const tenon_tensor *forward[] = {&x,   &gamma, rms ? NULL : &beta, &x, rms ? NULL : &m, &r,
                                     NULL, NULL};
    const tenon_tensor *inference[] = {&x, &gamma, &beta, &m, &r, &x};
    const tn_bounded *mean = results + COUNT, *rstd = rms ? mean : mean + tenon_tensor_elements(&m);
    double sum = 0;
    assert_true(c->given ? tn_operation_norm_inference.reference(&c->params, inference, results)
                         : tn_operation_norm.reference(&c->params, forward, results));
    for (int i = 0; i < COUNT; i++)
        sum += c->dy[i] * results[i].value;
    for (int64_t s = 0; s < tenon_tensor_elements(&m) && !c->given; s++) {
        c->mean[s] = mean[s].value;
        c->rstd[s] = rstd[s].value;
    }
    return sum;
}

static void compare_slopes(host_case *c, double *variable, int64_t count, const tn_bounded *got,
                           const char *what)
{
    const double step = 1e-5;
    for (int64_t i = 0; i < count; i++) {
        const double value = variable[i];
        variable[i] = value + step;
        const double above = loss(c);
        variable[i] = value - step;
        const double slope = (above - loss(c)) / (2 * step);
        variable[i] = value;
        if (!(fabs(slope - got[i].value) <= 1e-6 * (1 + fabs(slope))))
            fail_msg("%s of kind %d: element %lld is %.9g, the difference quotient %.9g", what,
                     c->params.kind, (long long)i, got[i].value, slope);
    }
}

static void fill_host(host_case *c, test_random *random)
{
    for (int i = 0; i < COUNT; i++) {
        c->x[i] = test_real(random, -2, 2);
        c->dy[i] = test_real(random, -1, 1);
        c->gamma[i] = test_real(random, 0.5, 2);
        c->beta[i] = test_real(random, -1, 1);
        c->mean[i] = test_real(random, -1, 1);
        c->rstd[i] = test_real(random, 0.5, 2);
    }
}

static void gradients(void **state)
{
    const int64_t image[] = {2, 6, 4}, six[] = {6}, four[] = {4}, by_sample[] = {2, 6},
                  by_group[] = {2, 3};
    test_random random = test_random_for(729);
    (void)state;
    for (int way = 0; way < 6; way++) {
        static const tenon_norm_kind kinds[] = {TENON_NORM_LAYER, TENON_NORM_RMS,
                                                TENON_NORM_GROUP, TENON_NORM_INSTANCE,
                                                TENON_NORM_BATCH, TENON_NORM_BATCH};
        host_case c = {.params = TENON_NORM_PARAMS_INIT, .given = way == 5};
        tn_bounded dx[3 * COUNT]; /* and what follows it */
        c.params.kind = kinds[way];
        c.params.groups = 3;
        c.image = tenon_tensor_view(TENON_DTYPE_F64, 3, image);
        c.parameter = tenon_tensor_view(TENON_DTYPE_F64, 1, way < 2 ? four : six);
        c.statistic = way >= 4
                          ? tenon_tensor_view(TENON_DTYPE_F64, 1, six)
                          : tenon_tensor_view(TENON_DTYPE_F64, 2, way == 2 ? by_group : by_sample);
        fill_host(&c, &random);
        loss(&c);
        const tenon_tensor x = at(c.image, c.x), dy = at(c.image, c.dy),
                           gamma = at(c.parameter, c.gamma), m = at(c.statistic, c.mean),
                           r = at(c.statistic, c.rstd);
        const tenon_tensor *operands[] = {&x, &dy, &gamma, way == 1 ? NULL : &m,
                                          &r, &x,  &gamma, way == 1 ? NULL : &gamma};
        const tn_operation *operation =
            c.given ? &tn_operation_norm_inference_backward : &tn_operation_norm_backward;
        const int64_t parameters = tenon_tensor_elements(&gamma);
        assert_true(operation->reference(&c.params, operands, dx));
        compare_slopes(&c, c.x, COUNT, dx, "dx");
        compare_slopes(&c, c.gamma, parameters, dx + COUNT, "dgamma");
        if (way != 1)
            compare_slopes(&c, c.beta, parameters, dx + COUNT + parameters, "dbeta");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),       cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(every_layout),    cmocka_unit_test(optional_operands),
        cmocka_unit_test(special_values),  cmocka_unit_test(in_place_and_repeated),
        cmocka_unit_test(integers),        cmocka_unit_test(large),
        cmocka_unit_test(random_problems),
    };
    return TEST_MAIN(tests);
}
