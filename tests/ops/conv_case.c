#include "conv_case.h"

#include "emulation.h"

#include "check/host.h"
#include "ops/conv/winograd.h"
#include "ops/registry.h"

const tenon_conv_geometry no_geometry = TENON_CONV_GEOMETRY_INIT;

const conv_case simple_conv = {.spatial = 2,
                               .n = 2,
                               .c = 4,
                               .size = {9, 11, 1},
                               .k = 6,
                               .filter = {3, 3, 1},
                               .groups = 1,
                               .geometry = TENON_CONV_GEOMETRY_INIT,
                               .alpha = 1};

const char *describe_conv(const void *user)
{
    static char text[1024];
    const conv_data *data = user;
    const conv_case *p = &data->problem;
    const tenon_conv_geometry *g = &p->geometry;
    char x[160], w[160], s[160], d[160], b[160], e[160];
    uint32_t n = p->spatial;
    snprintf(text, sizeof text,
             "%s x %s w %s groups %lld stride %s dilation %s padding %s + %s, layouts x %d w %d y "
             "%d, offset %lld, residual %d, bias %d, alpha %g beta %g activation %u",
             tenon_dtype_string(data->dtype),
             tn_shape_text(n + 2, data->operands[CONV_X].view.shape, x),
             tn_shape_text(n + 2, data->operands[CONV_W].view.shape, w), (long long)p->groups,
             tn_shape_text(n, g->stride, s), tn_shape_text(n, g->dilation, d),
             tn_shape_text(n, g->pad_begin, b), tn_shape_text(n, g->pad_end, e), (int)p->x,
             (int)p->w, (int)p->y, (long long)p->offset, (int)p->residual, p->bias, p->alpha,
             p->beta, p->activation.kind);
    return text;
}

/* The order of the dimensions, innermost first. */
static void image_order(image_layout layout, uint32_t rank, uint32_t *order)
{
    static const uint32_t first[IMAGE_LAYOUTS] = {[HWCN] = 2, [NHWC] = 1};
    uint32_t i = first[layout];
    for (uint32_t d = rank - 1; d > 0 && layout != ODD; d--)
        if (d > 1 || layout == NCHW)
            order[i++] = d;
    for (uint32_t d = 2; d < rank && layout == ODD; d++)
        order[d] = d;
    order[layout == NHWC || layout == NCHW ? rank - 1 : layout == ODD] = 0;
    if (layout != NCHW)
        order[layout == HWCN] = 1;
}

void create_conv_tensor(test_tensor *tensor, tenon_dtype dtype, image_layout layout,
                        uint32_t spatial, int64_t n, int64_t c, const int64_t *size, int64_t offset)
{
    uint32_t order[CONV_RANK], rank = spatial + 2;
    int64_t shape[CONV_RANK] = {n, c}, stride[CONV_RANK], step = layout == ODD ? 2 : 1;
    memcpy(shape + 2, size, spatial * sizeof *size);
    image_order(layout, rank, order);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t length = shape[order[i]];
        stride[order[i]] = step;
        step = step * (length > 0 ? length : 1) + (layout == ODD ? 3 : 0);
    }
    test_tensor_create(tensor, dtype, rank, shape, stride, offset);
}

static void create_image(conv_data *data, int operand, image_layout layout, int64_t n, int64_t c,
                         const int64_t *size)
{
    create_conv_tensor(&data->operands[operand], data->dtype, layout, data->problem.spatial, n, c,
                       size, data->problem.offset);
}

tenon_conv_params conv_params(const conv_case *p, const char *solver)
{
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.solver = solver;
    params.groups = p->groups;
    params.geometry = p->geometry;
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

const tenon_tensor *conv_view(const conv_data *data, int operand, bool host)
{
    if (operand == CONV_C && data->problem.residual == IN_PLACE)
        operand = CONV_Y;
    if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

static void create(conv_data *data)
{
    const conv_case *p = &data->problem;
    const int64_t filters[] = {p->k}, channels[] = {p->k, 1, 1, 1};
    const int64_t filters_stride[] = {2}, channels_stride[] = {1, 1, 1, 1};
    int64_t out[3];
    for (uint32_t d = 0; d < p->spatial; d++)
        out[d] = tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]);
    create_image(data, CONV_X, p->x, p->n, p->c, p->size);
    create_image(data, CONV_W, p->w, p->k, p->c / p->groups, p->filter);
    create_image(data, CONV_Y, p->y, p->n, p->k, out);
    if (p->bias)
        test_tensor_create(&data->operands[CONV_BIAS], data->dtype, 1, filters, filters_stride, 1);
    if (p->residual == FULL_RESIDUAL)
        create_image(data, CONV_C, NHWC, p->n, p->k, out);
    else if (p->residual == CHANNEL_RESIDUAL)
        test_tensor_create(&data->operands[CONV_C], data->dtype, p->spatial + 1, channels,
                           channels_stride, 1);
}

/* conv/winograd4 divides filters by 3 in each dimension: multiples of 9 keep its sums exact. */
static void make_divisible(conv_data *data)
{
    test_tensor *w = &data->operands[CONV_W];
    const uint32_t last = data->problem.spatial - 1;
    const int64_t *filter = data->problem.filter;
    if (data->judge != TEST_EXACT || last < 1 || filter[last] != 3 || filter[last - 1] != 3)
        return;
    for (int64_t i = tenon_tensor_elements(&w->view) - 1; i >= 0; i--)
        test_set(w, i, 9 * test_get(w, i));
}

void make_conv(conv_data *data, const conv_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random)
{
    *data = (conv_data){.problem = *p, .dtype = dtype, .judge = judge};
    data->transformed = calloc(1, sizeof *data->transformed);
    assert_non_null(data->transformed);
    create(data);
    if (p->alpha != 0) {
        test_fill(&data->operands[CONV_X], judge, random);
        test_fill(&data->operands[CONV_W], judge, random);
        make_divisible(data);
    }
    if (p->bias)
        test_fill(&data->operands[CONV_BIAS], judge, random);
    if (p->beta != 0)
        test_fill(&data->operands[p->residual == IN_PLACE ? CONV_Y : CONV_C], judge, random);
}

static tn_bounded *expect(const conv_data *data, const char *solver)
{
    tenon_conv_params params = conv_params(&data->problem, solver);
    const tenon_tensor *views[CONV_OPERANDS];
    for (int i = 0; i < CONV_OPERANDS; i++)
        views[i] = conv_view(data, i, true);
    const int64_t count = tenon_tensor_elements(views[CONV_Y]);
    tn_bounded *expected = malloc(((size_t)count + 1) * sizeof *expected);
    assert_non_null(expected);
    assert_true(tn_conv_reference(&params, views, expected));
    return expected;
}

void compute_conv_reference(conv_data *data)
{
    data->expected = expect(data, NULL);
}

/* Whether all that Winograd's convolution sums fits the accumulator: multiples of 1/4 for tiles of
 * 2 (a half in each dimension), and of 1/64 for tiles of 4 and filters that are multiples of 9. */
static bool sums_are_exact(const conv_data *data, int64_t tile)
{
    tenon_conv_params params = conv_params(&data->problem, NULL);
    const tenon_tensor *x = conv_view(data, CONV_X, true), *w = conv_view(data, CONV_W, true),
                       *y = conv_view(data, CONV_Y, true);
    const int64_t count = tenon_tensor_elements(y);
    double largest = 0, *dense_x = tn_host_read(x, x->rank, x->shape),
           *dense_w = tn_host_read(w, w->rank, w->shape);
    tn_bounded *sums = malloc(((size_t)count + 1) * sizeof *sums);
    conv_problem problem;
    assert_ok(tn_conv_canonicalise("test", &params, x, w, conv_view(data, CONV_C, true),
                                   conv_view(data, CONV_BIAS, true), y, &problem));
    assert_true(sums != NULL && tn_winograd_sums(&problem, tile, dense_x, dense_w, sums));
    for (int64_t i = 0; i < count; i++)
        largest = sums[i].bound > largest ? sums[i].bound : largest;
    free(sums);
    free(dense_x);
    free(dense_w);
    return largest * (tile == 2 ? 4 : 64) * tn_roundoff(data->dtype) < 1;
}

static void choose(const conv_data *data, char name[TN_SOLVER_NAME_SIZE])
{
    tenon_conv_params params = conv_params(&data->problem, NULL);
    tenon_plan *plan;
    assert_ok(tenon_conv_forward_plan(
        test_stream->context, &params, conv_view(data, CONV_X, false),
        conv_view(data, CONV_W, false), conv_view(data, CONV_C, false),
        conv_view(data, CONV_BIAS, false), conv_view(data, CONV_Y, false), &plan));
    snprintf(name, TN_SOLVER_NAME_SIZE, "%s", plan->name);
    tenon_plan_release(plan);
}

static const tn_bounded *expected_of(const void *user, const char *solver, test_judge *judge)
{
    const conv_data *data = user;
    char name[TN_SOLVER_NAME_SIZE];
    if (tn_tensor_empty(conv_view(data, CONV_Y, true))) /* whatever the sizes, no solver ran */
        return NULL;
    if (solver == NULL) {
        choose(data, name);
        solver = name;
    }
    const int64_t tile = tn_winograd_tile(tn_solver_named(&tn_conv_family, solver));
    if (tile == 0)
        return NULL;
    const int i = tile == 4;
    transformed_sums *t = data->transformed;
    if (t->expected[i] == NULL) {
        t->expected[i] = expect(data, solver);
        t->judge[i] = *judge == TEST_EXACT && sums_are_exact(data, tile) ? TEST_EXACT : TEST_BOUND;
    }
    *judge = t->judge[i];
    return t->expected[i];
}

void destroy_conv(conv_data *data)
{
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
    for (int i = 0; i < 2; i++)
        free(data->transformed->expected[i]);
    free(data->transformed);
}

static tenon_status call(const void *user, const char *solver)
{
    const conv_data *data = user;
    tenon_conv_params params = conv_params(&data->problem, solver);
    return test_call(&tn_operation_conv, &params, conv_view(data, CONV_X, false),
                     conv_view(data, CONV_W, false), conv_view(data, CONV_C, false),
                     conv_view(data, CONV_BIAS, false), conv_view(data, CONV_Y, false));
}

static bool has_product(const conv_case *p)
{
    bool has = p->n > 0 && p->c > 0 && p->k > 0;
    for (uint32_t d = 0; d < p->spatial; d++)
        has &= p->size[d] > 0 && p->filter[d] > 0 &&
               tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]) > 0;
    return has;
}

void emulate_conv(const test_subject *subject, const conv_case *p, tenon_dtype dtype, bool is_build)
{
    const emulation e = {.type = dtype == TENON_DTYPE_F32 ? 0 : emulated_type(dtype),
                         .no_type = "made for f16 and bf16",
                         .refusal = has_product(p) ? NULL : "there is no product",
                         .is_build = is_build};
    emulate(subject, &e);
}

static void emulate_forward(const test_subject *subject)
{
    const conv_data *data = subject->data;
    emulate_conv(subject, &data->problem, data->dtype,
                 tn_activation_is_build(data->problem.activation.kind));
}

test_subject conv_subject(const conv_data *data)
{
    return (test_subject){.family = &tn_conv_family,
                          .call = call,
                          .describe = describe_conv,
                          .data = data,
                          .operands = data->operands,
                          .operand_count = CONV_OPERANDS,
                          .expected = data->expected,
                          .judge = data->judge,
                          .expected_of = expected_of,
                          .emulate = emulate_forward};
}

static void check_type(const conv_case *p, tenon_dtype dtype, void (*check)(const test_subject *),
                       test_random *random)
{
    bool exact = !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        conv_data data;
        make_conv(&data, p, dtype, (test_judge)judge, random);
        compute_conv_reference(&data);
        const test_subject subject = conv_subject(&data);
        check(&subject);
        destroy_conv(&data);
    }
}

void check_conv_typed(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    const tenon_dtype other = emulated_other(dtype);
    test_random own = *random;
    check_type(p, dtype, test_run_all, random);
    if (other != TENON_DTYPE_INVALID)
        check_type(p, other, test_emulate, &own);
}

void check_conv(const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_type(p, *type, test_run_all, random);
}

void check_conv_once(const conv_case *p, test_random *random)
{
    const tenon_dtype *types = test_float_types();
    int64_t count = 1; /* f32 is everywhere */
    while (types[count] != TENON_DTYPE_INVALID)
        count++;
    check_conv_typed(p, types[test_between(random, 0, count - 1)], random);
}

/* Sizes whose product stays near a hundred, whatever the number of dimensions. */
static void random_geometry(conv_case *p, test_random *random)
{
    static const int64_t most[] = {90, 14, 6}, most_filter[] = {9, 5, 3};
    for (uint32_t d = 0; d < p->spatial; d++) {
        p->size[d] = test_between(random, 1, most[p->spatial - 1]);
        p->filter[d] =
            test_one_in(random, 3) ? 1 : test_between(random, 1, most_filter[p->spatial - 1]);
        p->geometry.stride[d] = test_one_in(random, 2) ? 1 : test_between(random, 2, 3);
        p->geometry.dilation[d] = test_one_in(random, 2) ? 1 : test_between(random, 2, 3);
        p->geometry.pad_begin[d] = test_between(random, 0, 3);
        p->geometry.pad_end[d] = test_between(random, 0, 3);
    }
}

conv_case random_conv(test_random *random)
{
    conv_case p = simple_conv;
    p.spatial = (uint32_t)test_between(random, 1, 3);
    p.groups = test_one_in(random, 2) ? 1 : test_between(random, 2, 4);
    p.n = test_between(random, 1, 3);
    p.c = p.groups * test_between(random, 1, 5);
    p.k = p.groups * test_between(random, 1, 9);
    random_geometry(&p, random);
    p.x = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.y = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.w = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.offset = test_between(random, 0, 5);
    p.bias = test_one_in(random, 2);
    p.residual = (conv_residual)test_between(random, NO_RESIDUAL, IN_PLACE);
    p.beta = p.residual == NO_RESIDUAL ? 0 : 0.5;
    p.activation.kind = test_one_in(random, 2) ? TENON_ACTIVATION_RELU : 0;
    return p;
}
