#include "norm_case.h"
#include "ops/registry.h"

norm_case norm_case_of(tenon_norm_kind kind, const int64_t *shape)
{
    norm_case p = {.params = TENON_NORM_PARAMS_INIT};
    p.params.kind = kind;
    while (shape[p.rank] != 0 && p.rank < TENON_MAX_RANK) {
        p.shape[p.rank] = shape[p.rank];
        p.rank++;
    }
    return p;
}

static const char *describe(const void *user)
{
    static char text[1024];
    const norm_data *data = user;
    const norm_case *p = &data->problem;
    char shape[160];
    int used =
        snprintf(text, sizeof text,
                 "%s %s kind %d shape %s dimensions %u groups %lld epsilon %g absent %#x "
                 "repeats %#x gap %d f32 %d same %d offset %lld layouts",
                 tenon_dtype_string(data->dtype),
                 p->backward ? "backward"
                 : p->given  ? "inference"
                             : "forward",
                 p->params.kind, tn_shape_text(p->rank, p->shape, shape), p->params.dimensions,
                 (long long)p->params.groups, p->params.epsilon, p->absent, p->repeats, p->gap,
                 p->f32_parameters, p->same, (long long)p->offset);
    for (int i = 0; i < NORM_CASE_OPERANDS; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %d", p->layout[i]);
    if (p->given)
        snprintf(text + used, sizeof text - (size_t)used, " given");
    return text;
}

static const tn_operation *operation_of(const norm_case *p)
{
    if (p->backward)
        return p->given ? &tn_operation_norm_inference_backward : &tn_operation_norm_backward;
    return p->given ? &tn_operation_norm_inference : &tn_operation_norm;
}

/* By the kind, and not by the library's word. */
static uint32_t shape_of(const norm_case *p, int like, int64_t *shape)
{
    const tenon_norm_kind kind = (tenon_norm_kind)p->params.kind;
    const bool last = kind == TENON_NORM_LAYER || kind == TENON_NORM_RMS;
    const uint32_t outer = p->rank - p->params.dimensions;
    memset(shape, 0, TENON_MAX_RANK * sizeof *shape);
    memcpy(shape, p->shape, p->rank * sizeof *shape);
    if (like == NORM_X)
        return p->rank;
    if (like == NORM_GAMMA && last) {
        memcpy(shape, p->shape + outer, p->params.dimensions * sizeof *shape);
        return p->params.dimensions;
    }
    if (last)
        return outer;
    if (like == NORM_GAMMA || kind == TENON_NORM_BATCH) {
        shape[0] = p->shape[1];
        return 1;
    }
    shape[1] = kind == TENON_NORM_GROUP ? p->params.groups : p->shape[1];
    return 2;
}

static void lay_out(const norm_case *p, int layout, uint32_t rank, const int64_t *shape,
                    int64_t *stride)
{
    if (layout != NORM_CHANNELS_LAST || rank < 2) {
        test_strides((test_layout)(layout % TEST_LAYOUTS), p->gap, rank, shape, stride);
        return;
    }
    int64_t step = shape[1] + (p->gap ? 3 : 0);
    stride[1] = 1;
    for (uint32_t d = rank; d-- > 0;)
        if (d != 1) {
            stride[d] = step;
            step *= shape[d];
        }
}

static bool is_there(const norm_case *p, int number)
{
    const bool rms = p->params.kind == TENON_NORM_RMS;
    if (rms && (number == NORM_MEAN || number == (p->backward ? NORM_DBETA : NORM_BETA)))
        return false;
    return p->backward || number < NORM_RUNNING_MEAN || p->params.kind == TENON_NORM_BATCH;
}

static void create(norm_data *data, int number, uint32_t operand)
{
    const norm_case *p = &data->problem;
    const int like = tn_norm_shape_of(p->backward, number);
    const tenon_dtype acc = data->dtype == TENON_DTYPE_F64 ? data->dtype : TENON_DTYPE_F32;
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK] = {0};
    const uint32_t rank = shape_of(p, like, shape);
    const bool acc_typed = like == NORM_MEAN || (like == NORM_GAMMA && p->f32_parameters);
    lay_out(p, p->layout[operand], rank, shape, stride);
    for (uint32_t d = 0; d < rank && number == NORM_X && p->same != 1; d++)
        stride[d] = (p->repeats >> d & 1) != 0 ? 0 : stride[d];
    test_tensor_create(&data->operands[operand], acc_typed ? acc : data->dtype, rank, shape, stride,
                       p->offset);
}

test_tensor *norm_operand(norm_data *data, int number)
{
    const uint32_t operand = data->views.operand[number];
    const bool same = (int)operand + 1 == data->problem.same;
    return &data->operands[same ? data->views.operand[NORM_Y] : operand];
}

static void fill_range(test_tensor *t, test_random *random, double low, double high)
{
    for (int64_t e = 0; e < tenon_tensor_elements(&t->view); e++)
        test_set(t, e, test_real(random, low, high));
}

static void fill(norm_data *data, int number, test_random *random)
{
    const norm_case *p = &data->problem;
    test_tensor *t = norm_operand(data, number);
    const bool input =
        p->backward ? number != NORM_DX && number < NORM_DGAMMA
                    : number != NORM_Y && (p->given || number < NORM_MEAN || number == NORM_BETA);
    const bool running = !p->backward && number >= NORM_RUNNING_MEAN;
    if (!input && !running)
        return;
    if (number == NORM_X && p->low != p->high)
        fill_range(t, random, p->low, p->high);
    else if (number == NORM_RSTD && p->judge == TEST_EXACT)
        for (int64_t e = 0; e < tenon_tensor_elements(&t->view); e++)
            test_set(t, e, (double)(int64_t)(1 << test_between(random, 0, 1)));
    else if (number == NORM_RSTD || (running && number == NORM_RUNNING_VARIANCE))
        fill_range(t, random, 0.25, 2);
    else
        test_fill(t, p->judge, random);
}

void norm_make(norm_data *data, const norm_case *p, tenon_dtype dtype, test_random *random)
{
    const tenon_tensor *host[NORM_CASE_OPERANDS] = {0};
    *data = (norm_data){.problem = *p, .dtype = dtype, .operation = operation_of(p)};
    data->count = data->operation->operand_count;
    data->outputs = data->operation->output_count;
    data->views = tn_norm_views(data->operation, host);
    for (int v = 0; v < NORM_VIEWS; v++) {
        const uint32_t operand = data->views.operand[v];
        if (data->views.name[v] == NULL || !is_there(p, v) || (p->absent >> operand & 1) != 0)
            continue;
        if ((int)operand + 1 != p->same)
            create(data, v, operand);
    }
    for (uint32_t i = 0; i < data->count; i++) {
        test_tensor *t = &data->operands[(int)i + 1 == p->same ? data->views.operand[NORM_Y] : i];
        host[i] = t->image != NULL ? &t->host : NULL;
    }
    data->views = tn_norm_views(data->operation, host);
    for (int v = 0; v < NORM_VIEWS; v++)
        if (data->views.view[v] != NULL)
            fill(data, v, random);
}

void norm_expect(norm_data *data)
{
    const tenon_tensor *host[NORM_CASE_OPERANDS] = {0};
    size_t total = 1, at = 0;
    for (int v = 0; v < NORM_VIEWS; v++)
        if (data->views.view[v] != NULL)
            host[data->views.operand[v]] = data->views.view[v];
    for (uint32_t i = data->count - data->outputs; i < data->count; i++)
        if (data->operands[i].image != NULL)
            total += (size_t)tenon_tensor_elements(&data->operands[i].view);
    data->expected = calloc(total, sizeof *data->expected);
    assert_non_null(data->expected);
    for (uint32_t i = data->count - data->outputs; i < data->count; i++)
        for (int v = 0; v < NORM_VIEWS; v++)
            if (data->views.name[v] != NULL && data->views.operand[v] == i &&
                data->operands[i].image != NULL) {
                data->of[v] = data->expected + at;
                at += (size_t)tenon_tensor_elements(&data->operands[i].view);
            }
    assert_true(data->operation->reference(&data->problem.params, host, data->expected));
}

static tenon_status call(const void *user, const char *solver)
{
    norm_data *data = (norm_data *)(uintptr_t)user;
    const norm_case *p = &data->problem;
    tenon_norm_params params = p->params;
    const tenon_tensor *v[NORM_CASE_OPERANDS] = {0};
    params.solver = solver;
    for (uint32_t i = 0; i < data->count; i++) {
        test_tensor *t = &data->operands[(int)i + 1 == p->same ? data->views.operand[NORM_Y] : i];
        v[i] = t->image != NULL ? &t->view : NULL;
    }
    if (p->backward && p->given)
        return test_call(&tn_operation_norm_inference_backward, &params, v[0], v[1], v[2], v[3],
                         v[4], v[5], v[6], v[7]);
    if (p->backward)
        return test_call(&tn_operation_norm_backward, &params, v[0], v[1], v[2], v[3], v[4], v[5],
                         v[6], v[7]);
    if (p->given)
        return test_call(&tn_operation_norm_inference, &params, v[0], v[1], v[2], v[3], v[4], v[5]);
    return test_call(&tn_operation_norm, &params, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
}

void norm_run(norm_data *data, bool automatic)
{
    const test_subject subject = {
        .family = data->problem.backward ? &tn_norm_backward_family : &tn_norm_family,
        .call = call,
        .describe = describe,
        .data = data,
        .operands = data->operands,
        .operand_count = data->count,
        .expected = data->expected,
        .judge = data->problem.backward ? data->problem.judge : TEST_BOUND,
        .outputs = data->outputs};
    if (automatic) {
        for (uint32_t i = 0; i < data->count - data->outputs; i++)
            if (data->operands[i].image != NULL)
                test_upload(&data->operands[i]);
        test_run(&subject, NULL);
    } else {
        test_run_all(&subject);
    }
    for (uint32_t i = 0; i < data->count; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

void norm_check(const norm_case *p, tenon_dtype dtype, test_random *random)
{
    norm_data data;
    norm_make(&data, p, dtype, random);
    norm_expect(&data);
    norm_run(&data, false);
}

void norm_check_types(const norm_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        norm_check(p, *type, random);
}

/* What must be there for the call to be sound. */
static uint32_t optional_operands(const norm_case *p)
{
    if (p->backward && p->params.kind == TENON_NORM_RMS)
        return 1u << NORM_BACKWARD_GAMMA | 1u << NORM_BACKWARD_DGAMMA;
    if (p->backward)
        return 1u << NORM_BACKWARD_GAMMA | 1u << NORM_BACKWARD_DX | 1u << NORM_BACKWARD_DGAMMA;
    if (p->given)
        return 6;
    return 6 | 1u << NORM_FORWARD_MEAN | 1u << NORM_FORWARD_RSTD | 1u << NORM_FORWARD_RUNNING_MEAN |
           1u << NORM_FORWARD_RUNNING_VARIANCE;
}

norm_case norm_random_case(test_random *random, bool backward)
{
    norm_case p = {.params = TENON_NORM_PARAMS_INIT, .backward = backward};
    p.params.kind = (int32_t)test_between(random, TENON_NORM_LAYER, TENON_NORM_BATCH);
    p.params.epsilon = test_real(random, 1e-6, 1e-2);
    p.params.momentum = test_real(random, 0, 1);
    const bool last = p.params.kind <= TENON_NORM_RMS;
    p.given = p.params.kind == TENON_NORM_BATCH && test_one_in(random, 3);
    p.rank = (uint32_t)(last ? test_between(random, 1, 5) : test_between(random, 3, 5));
    p.params.dimensions = last ? (uint32_t)test_between(random, 1, p.rank) : 1;
    const int64_t most = p.rank == 1 ? 3000 : p.rank == 2 ? 90 : p.rank == 3 ? 24 : 9;
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, most);
    if (test_one_in(random, 4))
        p.shape[test_between(random, 0, p.rank - 1)] += test_between(random, 16, 300);
    p.params.groups = test_between(random, 1, 4);
    if (p.params.kind == TENON_NORM_GROUP)
        p.shape[1] = p.params.groups * test_between(random, 1, 8);
    if (p.params.kind == TENON_NORM_BATCH)
        p.shape[2] += 1;
    const int layout = (int)test_between(random, 0, NORM_LAYOUTS - 1);
    for (int i = 0; i < NORM_CASE_OPERANDS; i++)
        p.layout[i] =
            test_one_in(random, 4) ? (int)test_between(random, 0, NORM_LAYOUTS - 1) : layout;
    p.gap = test_one_in(random, 2);
    const uint32_t half = (uint32_t)test_next(random);
    p.absent = half & (uint32_t)test_next(random) & optional_operands(&p);
    p.f32_parameters = test_one_in(random, 2);
    p.offset = test_between(random, 0, 5);
    p.same = test_one_in(random, 3) ? 1 : 0;
    if (backward && test_one_in(random, 3))
        p.same = 1 + NORM_BACKWARD_DY;
    if (backward && (p.absent >> NORM_BACKWARD_DX & 1) != 0)
        p.same = 0;
    if (!last && test_one_in(random, 8))
        p.repeats = 1u << test_between(random, 0, p.rank - 1);
    return p;
}
