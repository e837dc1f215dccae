#include "pool_case.h"
#include "ops/registry.h"

static tenon_tensor view_of(tenon_dtype dtype, pool_layout layout, uint32_t rank,
                            const int64_t *shape, int64_t offset)
{
    tenon_tensor view = test_view(dtype, layout == GAPS ? TEST_STRIDED : TEST_ROW, layout == GAPS,
                                  rank, shape, offset);
    int64_t step = shape[1] + (shape[1] == 0);
    if (layout != NHWC)
        return view;
    view.stride[1] = 1;
    for (uint32_t d = rank; d-- > 2;) {
        view.stride[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    view.stride[0] = step;
    return view;
}

void pool_begin(pool_pair *pair, const pool_case *p, tenon_dtype dtype)
{
    const bool indexed = p->params.kind == TENON_POOL_MAX && !p->no_indices;
    int64_t y[POOL_RANK] = {p->x[0], p->x[1]};
    tenon_tensor *forward = pair->forward.c.views, *backward = pair->backward.c.views;
    for (uint32_t d = 2; d < p->rank; d++)
        y[d] = (p->params.flags & TENON_POOL_ADAPTIVE) != 0
                   ? p->y[d]
                   : tenon_pool_output_size(&p->params, d - 2, p->x[d]);
    test_begin(&pair->forward, &tn_operation_pool);
    test_begin(&pair->backward, &tn_operation_pool_backward);
    *test_params(&pair->forward, tenon_pool_params) = p->params;
    *test_params(&pair->backward, tenon_pool_params) = p->params;
    forward[POOL_X] = view_of(dtype, p->x_layout, p->rank, p->x, 3);
    forward[POOL_Y] = backward[POOL_BACKWARD_DY] = view_of(dtype, p->y_layout, p->rank, y, 2);
    backward[POOL_BACKWARD_DX] = view_of(dtype, p->x_layout, p->rank, p->x, 1);
    if (indexed)
        forward[POOL_INDICES] = backward[POOL_BACKWARD_INDICES] =
            view_of(TENON_DTYPE_I32, p->y_layout == GAPS ? NCHW : p->y_layout, p->rank, y, 5);
    else
        backward[POOL_BACKWARD_X] = forward[POOL_X];
}

void pool_fill(pool_pair *pair, test_judge judge, test_random *random)
{
    test_make(&pair->forward);
    test_make(&pair->backward);
    test_fill_inputs(&pair->forward, judge, random);
    test_fill_inputs(&pair->backward, judge, random);
}

void pool_link(pool_pair *pair)
{
    const test_tensor *x = test_operand(&pair->forward, POOL_X);
    test_tensor *image = test_operand(&pair->backward, POOL_BACKWARD_X),
                *indices = test_operand(&pair->backward, POOL_BACKWARD_INDICES);
    for (int64_t i = 0; image != NULL && i < tenon_tensor_elements(&x->view); i++)
        test_set(image, i, test_get(x, i));
    if (indices == NULL)
        return;
    test_expect(&pair->forward);
    const int64_t count = tenon_tensor_elements(&indices->view);
    for (int64_t i = 0; i < count; i++)
        test_set(indices, i, pair->forward.expected[count + i].value);
}

void pool_finish(pool_pair *pair)
{
    pool_link(pair);
    test_finish(&pair->forward, TEST_ALL);
    test_finish(&pair->backward, TEST_ALL);
}

void pool_dismiss(pool_pair *pair)
{
    test_release(&pair->forward);
    test_release(&pair->backward);
}

void pool_check_type(const pool_case *p, tenon_dtype dtype, test_judge judge, test_random *random)
{
    pool_pair pair;
    pool_begin(&pair, p, dtype);
    pool_fill(&pair, judge, random);
    pool_finish(&pair);
}

void pool_check(const pool_case *p, test_judge judge, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        pool_check_type(p, *type, judge, random);
}

pool_case pool_plain(uint32_t rank, int64_t n, int64_t c, int64_t size, int64_t window)
{
    pool_case p = {.rank = rank, .x = {n, c}, .params = TENON_POOL_PARAMS_INIT};
    for (uint32_t d = 2; d < rank; d++) {
        p.x[d] = size + (int64_t)d;
        p.params.window[d - 2] = window;
    }
    return p;
}
