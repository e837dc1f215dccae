#include "gradient_case.h"

#include "emulation.h"

#include "ops/conv/winograd.h"
#include "ops/registry.h"

/* The operands of a call, in order: CONV_X … of the convolution, the output last. */
static const struct operands {
    uint32_t count;
    uint8_t tensor[CONV_OPERANDS];
} operands_of[DIRECTIONS] = {
    [OF_IMAGE] = {3, {CONV_Y, CONV_W, CONV_X}},
    [OF_FILTER] = {3, {CONV_X, CONV_Y, CONV_W}},
    [OF_BIAS] = {2, {CONV_Y, CONV_BIAS}},
    [TRANSPOSED] = {5, {CONV_Y, CONV_W, CONV_C, CONV_BIAS, CONV_X}},
    [TRANSPOSED_OF_IMAGE] = {3, {CONV_X, CONV_W, CONV_Y}},
    [TRANSPOSED_OF_FILTER] = {3, {CONV_Y, CONV_X, CONV_W}},
};

uint32_t gradient_operand(gradient_direction direction, int tensor)
{
    uint32_t i = 0;
    while (operands_of[direction].tensor[i] != tensor)
        i++;
    return i;
}

static void output_size(const conv_case *p, int64_t out[3])
{
    for (uint32_t d = 0; d < p->spatial; d++)
        out[d] = tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]) - p->beyond[d];
}

bool gradient_takes(gradient_direction direction, const conv_case *p)
{
    int64_t out[3];
    output_size(p, out);
    for (uint32_t d = 0; d < p->spatial && direction == TRANSPOSED; d++)
        if (out[d] == 0 || p->size[d] == 0)
            return false;
    return true;
}

static void create(gradient_data *data, int tensor)
{
    const conv_case *p = &data->problem;
    const int64_t channels[] = {p->c, 1, 1, 1}, ones[] = {1, 1, 1, 1}, pitch[] = {2};
    int64_t out[3];
    test_tensor *to = &data->operands[gradient_operand(data->direction, tensor)];
    output_size(p, out);
    switch (tensor) {
    case CONV_X:
        create_conv_tensor(to, data->dtype, p->x, p->spatial, p->n, p->c, p->size, p->offset);
        break;
    case CONV_W:
        create_conv_tensor(to, data->dtype, p->w, p->spatial, p->k, p->c / p->groups, p->filter,
                           p->offset);
        break;
    case CONV_Y:
        create_conv_tensor(to, data->dtype, p->y, p->spatial, p->n, p->k, out, p->offset);
        break;
    case CONV_C:
        if (p->residual == FULL_RESIDUAL)
            create_conv_tensor(to, data->dtype, NHWC, p->spatial, p->n, p->c, p->size, p->offset);
        else if (p->residual == CHANNEL_RESIDUAL)
            test_tensor_create(to, data->dtype, p->spatial + 1, channels, ones, 1);
        break;
    default:
        if (data->direction == OF_BIAS)
            test_tensor_create(to, data->dtype, 1, &p->k, pitch, 1);
        else if (p->bias)
            test_tensor_create(to, data->dtype, 1, &p->c, pitch, 1);
    }
}

/* Whether beta is of what the output holds. */
static bool adds_output(const gradient_data *data)
{
    return data->problem.beta != 0 &&
           (data->direction != TRANSPOSED || data->problem.residual == IN_PLACE);
}

void gradient_make(gradient_data *data, gradient_direction direction, const conv_case *p,
                   tenon_dtype dtype, test_judge judge, test_random *random)
{
    const struct operands *o = &operands_of[direction];
    *data = (gradient_data){
        .problem = *p, .direction = direction, .dtype = dtype, .judge = judge, .count = o->count};
    data->by_solver = calloc(1, sizeof *data->by_solver);
    assert_non_null(data->by_solver);
    for (uint32_t i = 0; i < o->count; i++)
        create(data, o->tensor[i]);
    for (uint32_t i = 0; i < o->count; i++) {
        bool is_output = i + 1 == o->count, is_residual = o->tensor[i] == CONV_C,
             is_factor = o->tensor[i] != CONV_BIAS && !is_residual && !is_output;
        if (data->operands[i].image == NULL || (is_output && !adds_output(data)) ||
            (is_residual && p->beta == 0) ||
            (is_factor && direction == TRANSPOSED && p->alpha == 0))
            continue;
        test_fill(&data->operands[i], judge, random);
    }
}

void gradient_destroy(gradient_data *data)
{
    for (uint32_t i = 0; i < data->count; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
    free(*data->by_solver);
    free(data->by_solver);
}

static const tenon_tensor *view(const gradient_data *data, uint32_t operand, bool host)
{
    bool is_residual = operands_of[data->direction].tensor[operand] == CONV_C;
    if (is_residual && data->problem.residual == IN_PLACE)
        operand = data->count - 1;
    if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

static tenon_conv_backward_params backward_params(const conv_case *p, const char *solver)
{
    tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
    params.solver = solver;
    params.groups = p->groups;
    params.geometry = p->geometry;
    params.beta = p->beta;
    return params;
}

static tenon_conv_transpose_params transpose_params(const conv_case *p, const char *solver)
{
    tenon_conv_transpose_params params = TENON_CONV_TRANSPOSE_PARAMS_INIT;
    int64_t out[3];
    output_size(p, out);
    params.solver = solver;
    params.groups = p->groups;
    params.geometry = p->geometry;
    for (uint32_t d = 0; d < p->spatial; d++) { /* what the stride leaves of the image */
        const tenon_conv_geometry *g = &p->geometry;
        int64_t reach = (p->filter[d] - 1) * g->dilation[d] + 1;
        params.output_padding[d] =
            p->size[d] + g->pad_begin[d] + g->pad_end[d] - reach - (out[d] - 1) * g->stride[d];
    }
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

void gradient_expect(gradient_data *data)
{
    const tenon_tensor *v[CONV_OPERANDS] = {NULL};
    const tenon_conv_backward_params params = backward_params(&data->problem, NULL);
    const tenon_conv_transpose_params transposed =
        data->direction == TRANSPOSED
            ? transpose_params(&data->problem, NULL)
            : (tenon_conv_transpose_params)TENON_CONV_TRANSPOSE_PARAMS_INIT;
    bool done = false;
    for (uint32_t i = 0; i < data->count; i++)
        v[i] = view(data, i, true);
    int64_t elements = tenon_tensor_elements(v[data->count - 1]);
    free(data->expected);
    data->expected = malloc(((size_t)elements + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    switch (data->direction) {
    case OF_IMAGE:
        done = tn_conv_backward_data_reference(&params, v, data->expected);
        break;
    case OF_FILTER:
        done = tn_conv_backward_filter_reference(&params, v, data->expected);
        break;
    case OF_BIAS:
        done = tn_conv_backward_bias_reference(&params, v, data->expected);
        break;
    case TRANSPOSED:
        done = tn_conv_transpose_reference(&transposed, v, data->expected);
        break;
    case TRANSPOSED_OF_IMAGE:
        done = tn_conv_transpose_backward_data_reference(&params, v, data->expected);
        break;
    default:
        done = tn_conv_transpose_backward_filter_reference(&params, v, data->expected);
    }
    assert_true(done);
}

static tenon_status call(const void *user, const char *solver)
{
    const gradient_data *data = user;
    const tenon_tensor *v[CONV_OPERANDS] = {NULL};
    const tenon_conv_backward_params params = backward_params(&data->problem, solver);
    for (uint32_t i = 0; i < data->count; i++)
        v[i] = view(data, i, false);
    switch (data->direction) {
    case OF_IMAGE:
        return test_call(&tn_operation_conv_backward_data, &params, v[0], v[1], v[2]);
    case OF_FILTER:
        return test_call(&tn_operation_conv_backward_filter, &params, v[0], v[1], v[2]);
    case OF_BIAS:
        return test_call(&tn_operation_conv_backward_bias, &params, v[0], v[1]);
    case TRANSPOSED: {
        const tenon_conv_transpose_params transposed = transpose_params(&data->problem, solver);
        return test_call(&tn_operation_conv_transpose, &transposed, v[0], v[1], v[2], v[3], v[4]);
    }
    case TRANSPOSED_OF_IMAGE:
        return test_call(&tn_operation_conv_transpose_backward_data, &params, v[0], v[1], v[2]);
    default:
        return test_call(&tn_operation_conv_transpose_backward_filter, &params, v[0], v[1], v[2]);
    }
}

/* The gradient of a transposed convolution's image is a convolution, which Winograd's solvers may
 * serve. */
static const tn_bounded *expected_of(const void *user, const char *solver, test_judge *judge)
{
    const gradient_data *data = user;
    const tenon_tensor *v[3], *host[3];
    char name[TN_SOLVER_NAME_SIZE];
    if (data->direction != TRANSPOSED_OF_IMAGE)
        return NULL;
    for (uint32_t i = 0; i < 3; i++) {
        v[i] = view(data, i, false);
        host[i] = view(data, i, true);
    }
    if (solver == NULL) {
        const tenon_conv_backward_params params = backward_params(&data->problem, NULL);
        tenon_plan *plan;
        assert_ok(tenon_conv_transpose_backward_data_plan(test_stream->context, &params, v[0], v[1],
                                                          v[2], &plan));
        snprintf(name, sizeof name, "%s", plan->name);
        tenon_plan_release(plan);
        solver = name;
    }
    const tn_solver *known = tn_solver_named(&tn_conv_family, solver);
    if (tn_winograd_tile(known) == 0)
        return NULL;
    if (known->inexact)
        *judge = TEST_BOUND;
    const tenon_conv_backward_params params = backward_params(&data->problem, solver);
    free(*data->by_solver);
    *data->by_solver =
        malloc(((size_t)tenon_tensor_elements(host[2]) + 1) * sizeof **data->by_solver);
    assert_non_null(*data->by_solver);
    assert_true(tn_conv_transpose_backward_data_reference(&params, host, *data->by_solver));
    return *data->by_solver;
}

static const char *describe(const void *user)
{
    static const char *const names[DIRECTIONS] = {
        "of the image", "of the filter",           "of the bias",
        "transposed",   "of a transposed's image", "of a transposed's filter"};
    static char text[1280];
    const gradient_data *data = user;
    conv_data as_conv = {.problem = data->problem, .dtype = data->dtype};
    const conv_case *p = &data->problem;
    test_tensor *t = as_conv.operands;
    t[CONV_X].view.shape[0] = p->n;
    t[CONV_X].view.shape[1] = p->c;
    t[CONV_W].view.shape[0] = p->k;
    t[CONV_W].view.shape[1] = p->c / p->groups;
    memcpy(t[CONV_X].view.shape + 2, p->size, sizeof p->size);
    memcpy(t[CONV_W].view.shape + 2, p->filter, sizeof p->filter);
    snprintf(text, sizeof text, "%s, %lld %lld %lld strides beyond: %s", names[data->direction],
             (long long)p->beyond[0], (long long)p->beyond[1], (long long)p->beyond[2],
             describe_conv(&as_conv));
    return text;
}

static void emulate_gradient(const test_subject *subject)
{
    const gradient_data *data = subject->data;
    const bool is_build =
        data->direction == TRANSPOSED && tn_activation_is_build(data->problem.activation.kind);
    emulate_conv(subject, &data->problem, data->dtype, is_build);
}

test_subject gradient_subject(const gradient_data *data)
{
    static const tn_family *const families[DIRECTIONS] = {
        [OF_IMAGE] = &tn_conv_backward_data_family,
        [OF_FILTER] = &tn_conv_backward_filter_family,
        [OF_BIAS] = &tn_conv_backward_bias_family,
        [TRANSPOSED] = &tn_conv_transpose_family,
        [TRANSPOSED_OF_IMAGE] = &tn_conv_family,
        [TRANSPOSED_OF_FILTER] = &tn_conv_backward_filter_family};
    return (test_subject){.family = families[data->direction],
                          .call = call,
                          .describe = describe,
                          .data = data,
                          .operands = data->operands,
                          .operand_count = data->count,
                          .expected = data->expected,
                          .judge = data->judge,
                          .expected_of = expected_of,
                          .emulate = emulate_gradient};
}

void gradient_run(gradient_data *data)
{
    gradient_expect(data);
    const test_subject subject = gradient_subject(data);
    test_run_all(&subject);
}

static void emulate_alone(gradient_data *data)
{
    gradient_expect(data);
    const test_subject subject = gradient_subject(data);
    test_emulate(&subject);
}

static void check_type(gradient_direction direction, const conv_case *p, tenon_dtype dtype,
                       void (*check)(gradient_data *), test_random *random)
{
    bool exact = direction != TRANSPOSED || !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        gradient_data data;
        gradient_make(&data, direction, p, dtype, (test_judge)judge, random);
        check(&data);
        gradient_destroy(&data);
    }
}

void gradient_check_typed(gradient_direction direction, const conv_case *p, tenon_dtype dtype,
                          test_random *random)
{
    const tenon_dtype other = direction != OF_BIAS ? emulated_other(dtype) : TENON_DTYPE_INVALID;
    test_random own = *random;
    check_type(direction, p, dtype, gradient_run, random);
    if (other != TENON_DTYPE_INVALID)
        check_type(direction, p, other, emulate_alone, &own);
}

void gradient_check(gradient_direction direction, const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_type(direction, p, *type, gradient_run, random);
}
