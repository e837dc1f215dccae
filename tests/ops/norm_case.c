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

static const tn_operation *operation_of(const norm_case *p)
{
    if (p->backward)
        return p->given ? &tn_operation_norm_inference_backward : &tn_operation_norm_backward;
    return p->given ? &tn_operation_norm_inference : &tn_operation_norm;
}

/* Derives the shape from the kind of normalization, independently of the library. */
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

static tenon_tensor view_of(const norm_case *p, tenon_dtype dtype, int number, uint32_t operand)
{
    const int like = tn_norm_shape_of(p->backward, number);
    const bool acc_typed = like == NORM_MEAN || (like == NORM_GAMMA && p->f32_parameters);
    const tenon_dtype acc = dtype == TENON_DTYPE_F64 ? dtype : TENON_DTYPE_F32;
    int64_t shape[TENON_MAX_RANK];
    const uint32_t rank = shape_of(p, like, shape);
    tenon_tensor view = test_view(acc_typed ? acc : dtype, TEST_ROW, false, rank, shape, p->offset);
    lay_out(p, p->layout[operand], rank, shape, view.stride);
    for (uint32_t d = 0; d < rank && number == NORM_X; d++)
        view.stride[d] = (p->repeats >> d & 1) != 0 ? 0 : view.stride[d];
    return view;
}

static void fill(test_fixture *f, const norm_case *p, test_random *random)
{
    test_fill_inputs(f, p->judge, random);
    test_tensor *x = test_operand(f, 0);
    for (int64_t e = 0; e < tenon_tensor_elements(&x->view) && p->low != p->high; e++)
        test_set(x, e, test_real(random, p->low, p->high));
    /* A variance or the reciprocal of a standard deviation is positive. */
    test_tensor *spread = test_operand(f, p->backward || p->given ? NORM_BACKWARD_RSTD
                                                                  : NORM_FORWARD_RUNNING_VARIANCE);
    for (int64_t e = 0; spread != NULL && e < tenon_tensor_elements(&spread->view); e++)
        test_set(spread, e,
                 p->backward && p->judge == TEST_EXACT ? (double)test_between(random, 1, 2)
                                                       : test_real(random, 0.25, 2));
    if (!p->backward)
        f->judge = TEST_BOUND;
}

void norm_make(test_fixture *f, const norm_case *p, tenon_dtype dtype, test_random *random)
{
    test_begin(f, operation_of(p));
    *test_params(f, tenon_norm_params) = p->params;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        const int number = tn_norm_number(f->c.operation, i);
        if (is_there(p, number) && (p->absent >> i & 1) == 0)
            f->c.views[i] = view_of(p, dtype, number, i);
        if (number == NORM_Y && p->same != 0)
            f->c.same[p->same - 1] = 1 + i;
    }
    test_make(f);
    fill(f, p, random);
}

void norm_check(const norm_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    norm_make(&f, p, dtype, random);
    test_finish(&f, TEST_ALL);
}

void norm_check_types(const norm_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        norm_check(p, *type, random);
}

void norm_check_layouts(bool backward, test_random *random)
{
    static const int64_t shape[] = {3, 12, 5, 6, 0};
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (int layout = 0; layout < NORM_LAYOUTS; layout++) {
            norm_case p = norm_case_of((tenon_norm_kind)kind, shape);
            p.backward = backward;
            p.params.groups = 4;
            p.params.dimensions = 1 + (uint32_t)layout % 4;
            p.gap = layout % 2 != 0;
            p.f32_parameters = layout % 2 == 0;
            for (int i = 0; i < NORM_CASE_OPERANDS; i++)
                p.layout[i] = layout;
            norm_check_types(&p, random);
        }
}

/* Returns the operands that the call requires. */
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
