/* Tests the elementwise operations over shapes: sizes around vectors and pieces, every rank,
 * repeated inputs, all in-place combinations, long rows. Other programs test their values. */
#include "activation_case.h"
#include "fixture.h"

#include "ops/activation/internal.h"
#include "ops/elementwise/internal.h"
#include "ops/gated/internal.h"
#include "ops/registry.h"

#define KINDS (TENON_ELEMENTWISE_ATAN2 + 1)

/* Requirements of parameters: exact on integers, and whether builds of their own are allowed. */
typedef struct wish {
    tenon_dtype dtype;
    bool integers, builds;
} wish;

typedef struct pointwise_operation {
    const tn_operation *operation;
    /* Draws the parameters; returns the number of inputs. */
    uint32_t (*draw)(test_fixture *f, const wish *w, test_random *random);
    double reach;       /* inputs are in [-reach, reach] */
    uint32_t divisor;   /* input that must not be near zero; 0 for none */
    bool integers;      /* integers are tested too */
    test_extent extent; /* for random problems */
} pointwise_operation;

/* Views of a problem. With an odd offset, each operand has a different one. */
typedef struct pointwise_case {
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK], offset;
    test_layout layout[TN_MAX_OPERANDS];
    bool gap;
    uint32_t repeats[TN_MAX_OPERANDS]; /* bit d: the input has stride 0 along dimension d */
    uint32_t form;                     /* which inputs are also outputs */
} pointwise_case;

static uint32_t draw_activation(test_fixture *f, const wish *w, test_random *random)
{
    uint32_t kind;
    do
        kind = (uint32_t)test_between(random, 0, TN_ACTIVATION_KINDS - 1);
    while (tn_activation_is_build(kind) && !(w->builds && test_takes_turn(kind, w->dtype)));
    test_params(f, tenon_activation_params)->activation = tn_activation_tried(kind);
    return f->c.operation->operand_count - 1;
}

/* Draws one of the named gates. */
static uint32_t draw_gate(test_fixture *f, const wish *w, test_random *random)
{
    static const uint32_t kinds[] = {TENON_ACTIVATION_RELU, TENON_ACTIVATION_IDENTITY,
                                     TENON_ACTIVATION_SIGMOID, TENON_ACTIVATION_SILU};
    const uint32_t kind = kinds[test_between(random, 0, w->integers ? 1 : 3)];
    test_params(f, tenon_gated_params)->activation = tn_activation_tried(kind);
    return test_first_output(f->c.operation);
}

static double draw_factor(bool integer, test_random *random)
{
    return test_one_in(random, 4) ? 0
           : integer              ? (double)test_between(random, -3, 3)
                                  : test_real(random, -2, 2);
}

/* Divisions and functions are not exact on integers. */
static uint32_t draw_elementwise(test_fixture *f, const wish *w, test_random *random)
{
    tenon_elementwise_params *params = test_params(f, tenon_elementwise_params);
    do
        params->kind = (uint32_t)test_between(random, 0, KINDS - 1);
    while (w->integers &&
           (params->kind == TENON_ELEMENTWISE_DIVIDE || tn_elementwise_is_function(params->kind)));
    params->alpha = draw_factor(w->integers, random);
    params->beta = draw_factor(w->integers, random);
    return ELEMENTWISE_D;
}

/* Draws a step whose bound stays finite, and which is exact on integers if `exact`. */
static tenon_chain_step draw_step(test_random *random, int inputs, uint32_t build, bool exact)
{
    static const uint32_t cheap[] = {TENON_ACTIVATION_RELU,         TENON_ACTIVATION_ABS,
                                     TENON_ACTIVATION_CLIPPED_RELU, TENON_ACTIVATION_HARD_SWISH,
                                     TENON_ACTIVATION_SOFTSIGN,     TENON_ACTIVATION_LEAKY_RELU};
    tenon_chain_step step = {.op = (uint32_t)test_between(random, 0, TENON_CHAIN_ACTIVATE)};
    step.alpha = exact ? (double)test_between(random, -3, 3) : test_real(random, 0.5, 2);
    step.beta = exact ? (double)test_between(random, -3, 3) : test_real(random, -2, 2);
    if (exact && step.op == TENON_CHAIN_DIVIDE)
        step.op = TENON_CHAIN_MIN;
    if (step.op == TENON_CHAIN_ACTIVATE) {
        step.activation = !exact && build != 0 && test_one_in(random, 2)
                              ? build
                              : cheap[test_between(random, 0, exact ? 1 : 5)];
        return step;
    }
    step.operand = (uint32_t)test_between(random, 0, inputs);
    if (step.op == TENON_CHAIN_DIVIDE && step.operand != TENON_CHAIN_X3)
        step.operand = TENON_CHAIN_SCALAR;
    if (step.op == TENON_CHAIN_FMA)
        step.addend = (uint32_t)test_between(random, 0, inputs);
    return step;
}

static uint32_t draw_chain(test_fixture *f, const wish *w, test_random *random)
{
    static const uint32_t builds[] = {0, TENON_ACTIVATION_SIGMOID, TENON_ACTIVATION_SILU};
    const bool may_build = w->builds && w->dtype == TENON_DTYPE_F32;
    const uint32_t build = builds[may_build ? test_between(random, 0, 2) : 0];
    tenon_elementwise_chain_params *params = test_params(f, tenon_elementwise_chain_params);
    const int inputs = (int)test_between(random, 1, CHAIN_Y);
    /* Each list of 1 to 3 steps requires a build. */
    params->step_count = test_one_in(random, 4)
                             ? (uint32_t)test_between(random, 0, CHAIN_FIXED_STEPS)
                             : (uint32_t)test_between(random, 4, TENON_CHAIN_MAX_STEPS);
    for (uint32_t n = 0; n < params->step_count; n++)
        params->steps[n] = draw_step(random, inputs, build, w->integers);
    return (uint32_t)inputs;
}

static const pointwise_operation operations[] = {
    {&tn_operation_activation, draw_activation, .reach = 10},
    {&tn_operation_activation_backward, draw_activation, .reach = 8},
    {&tn_operation_gated, draw_gate, .reach = 6, .integers = true},
    {&tn_operation_gated_backward, draw_gate, .reach = 6, .integers = true},
    {&tn_operation_elementwise, draw_elementwise, .reach = 1, .integers = true},
    {&tn_operation_elementwise_chain, draw_chain, .reach = 1, .divisor = CHAIN_X3, .integers = true,
     .extent = TEST_ALL}};
#define OPERATIONS (sizeof operations / sizeof *operations)

static uint32_t inputs_of(const pointwise_operation *o)
{
    return test_first_output(o->operation);
}

/* Returns the number of in-place combinations: each input is one of the outputs or none. */
static uint32_t forms_of(const pointwise_operation *o)
{
    uint32_t forms = 1;
    for (uint32_t i = 0; i < inputs_of(o); i++)
        forms *= o->operation->operand_count - inputs_of(o) + 1;
    return forms;
}

static void set_views(test_fixture *f, const pointwise_case *p, uint32_t inputs, tenon_dtype dtype)
{
    const tn_operation *operation = f->c.operation;
    const uint32_t first = test_first_output(operation),
                   forms = operation->operand_count - first + 1;
    uint32_t form = p->form;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        tenon_tensor *view = &f->c.views[i];
        if (i >= inputs && i < first)
            continue;
        *view = test_view(dtype, p->layout[i], p->gap, p->rank, p->shape,
                          p->offset + (p->offset % 2 != 0 ? i : 0));
        if (i >= first)
            continue;
        for (uint32_t d = 0; d < p->rank; d++)
            view->stride[d] = (p->repeats[i] >> d & 1) != 0 ? 0 : view->stride[d];
        const uint32_t output = form % forms;
        form /= forms;
        f->c.same[i] = output != 0 ? first + output : 0;
    }
}

static void run(const pointwise_operation *o, const pointwise_case *p, const wish *w,
                test_extent extent, test_random *random)
{
    test_fixture f;
    test_begin(&f, o->operation);
    const uint32_t inputs = o->draw(&f, w, random);
    set_views(&f, p, inputs, w->dtype);
    test_make(&f);
    test_fill_plainly(&f, w->integers ? TEST_EXACT : TEST_BOUND, o->reach, random);
    if (o->divisor != 0 && o->divisor < inputs && !w->integers) {
        test_tensor *x = test_operand(&f, o->divisor);
        for (int64_t n = 0; n < tenon_tensor_elements(&x->view); n++)
            test_set(x, n, test_real(random, 0.5, 1.5) * (test_one_in(random, 2) ? 1 : -1));
    }
    test_finish(&f, extent);
}

/* Checks every type, reals within the bound and integers exactly. */
static void check(const pointwise_operation *o, const pointwise_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int integers = 0; integers <= o->integers; integers++) {
            const wish w = {.dtype = *type, .integers = integers != 0};
            run(o, p, &w, TEST_ALL, random);
        }
}

TEST(sizes_around_vectors)
{
    static const uint16_t sizes[] = {0,   1,    2,    3,    4,    5,    7,    8,    9,   15,
                                     16,  17,   31,   33,   63,   64,   65,   127,  128, 129,
                                     255, 1023, 1025, 4099, 8191, 8192, 8193, 16385};
    test_random random = test_random_for(501);
    for (const pointwise_operation *o = operations; o < operations + OPERATIONS; o++)
        for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const uint32_t forms = forms_of(o), tries = forms > 4 || sizes[i] >= 1000 ? 1 : forms;
            for (uint32_t n = 0; n < tries; n++) {
                const pointwise_case p = {.rank = 1,
                                          .shape = {sizes[i]},
                                          .offset = i % 5,
                                          .form = (i * tries + n) % forms};
                check(o, &p, &random);
            }
        }
}

/* All combinations of strides of 0 of two inputs, in short and long rows. */
TEST(inputs_that_repeat)
{
    test_random random = test_random_for(502);
    for (const pointwise_operation *o = operations; o < operations + OPERATIONS; o++)
        for (uint32_t mask = 0; mask < (inputs_of(o) == 1 ? 8 : 64);
             mask += o->operation == &tn_operation_elementwise || inputs_of(o) == 1 ? 1 : 5) {
            const uint32_t last = o->operation->operand_count - 1;
            pointwise_case p = {.rank = 3,
                                .shape = {3, mask % 4 == 1 ? 1 : 5, mask % 3 == 0 ? 37 : 6}};
            p.repeats[0] = mask & 7;
            p.repeats[1] = mask >> 3;
            p.repeats[2] = 7 - (mask & 7);
            p.repeats[3] = 7 - (mask >> 3);
            p.layout[last] = mask % 5 == 4 ? TEST_COL : TEST_ROW;
            check(o, &p, &random);
        }
}

TEST(every_rank)
{
    test_random random = test_random_for(503);
    for (const pointwise_operation *o = operations; o < operations + OPERATIONS; o++)
        for (uint32_t n = 0; n < 12 * (TENON_MAX_RANK + 1); n++) {
            pointwise_case p = {.rank = n / 12, .gap = n % 2 == 0};
            for (uint32_t d = 0; d < p.rank; d++)
                p.shape[d] = test_between(&random, 1, p.rank > 5 ? 3 : 5);
            for (uint32_t i = 0; i < o->operation->operand_count; i++)
                p.layout[i] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            p.form = n % 4 == 0 ? n / 4 % forms_of(o) : 0;
            check(o, &p, &random);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(505);
    for (const pointwise_operation *o = operations; o < operations + OPERATIONS; o++)
        for (int n = 0; n < 4 * test_problems(o->reach > 6 ? 20 : 40); n++) {
            const wish w = {.dtype = test_float_type((uint32_t)n), .builds = true};
            pointwise_case p = {.gap = test_one_in(&random, 2)};
            p.rank = test_random_shape(&random, p.shape);
            p.offset = test_between(&random, 0, 9);
            for (uint32_t i = 0; i < o->operation->operand_count; i++) {
                p.layout[i] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
                if (test_one_in(&random, 3))
                    p.repeats[i] = (uint32_t)test_between(&random, 0, 255);
            }
            if (test_one_in(&random, 3))
                p.form = (uint32_t)test_between(&random, 0, forms_of(o) - 1);
            run(o, &p, &w, o->extent, &random);
        }
}

/* More elements than one work-item handles: in one line, and in lines that repeat or have another
 * order. */
TEST(large)
{
    const wish w = {.dtype = TENON_DTYPE_F32};
    const pointwise_case line = {.rank = 1, .shape = {(1 << 20) + 7}};
    pointwise_case plane = {.rank = 2, .shape = {1031, 517}, .repeats = {0, 1, 2}};
    test_random random = test_random_for(504);
    for (const pointwise_operation *o = operations; o < operations + OPERATIONS; o++) {
        run(o, &line, &w, TEST_ALL, &random);
        memset(plane.layout, 0, sizeof plane.layout);
        plane.layout[0] = TEST_COL;
        plane.layout[o->operation->operand_count - 1] = TEST_PITCH;
        run(o, &plane, &w, TEST_ALL, &random);
    }
}
