#include "lines_case.h"

#include "dispatch/state.h"

void lines_begin(test_fixture *f, const tn_operation *operation, const void *params,
                 const tenon_dtype *types)
{
    test_begin(f, operation);
    memcpy(f->c.params.bytes, params, operation->params_size);
    for (uint32_t i = 0; i < operation->operand_count; i++)
        f->c.views[i].dtype = types[i];
}

static void lay(tenon_tensor *view, uint32_t rank, const int64_t *shape, test_layout layout,
                bool gap, int64_t offset)
{
    if (view->dtype != TENON_DTYPE_INVALID)
        *view = test_view(view->dtype, layout, gap, rank, shape, offset);
}

void lines_lay(test_fixture *f, uint32_t rank, const int64_t *shape, test_layout layout, bool gap,
               int64_t offset)
{
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        lay(&f->c.views[i], rank, shape, layout, gap, offset);
}

void lines_dense(test_fixture *f, int64_t size, int64_t offset)
{
    lines_lay(f, 1, &size, TEST_ROW, false, offset);
}

void lines_draw(test_fixture *f, test_random *random, int64_t most)
{
    const uint32_t rank = (uint32_t)test_between(random, 0, 4);
    const int64_t offset = test_between(random, 0, 5);
    int64_t shape[4];
    for (uint32_t d = rank; d-- > 0; most /= shape[d] > 0 ? shape[d] : 1)
        shape[d] = test_between(random, test_one_in(random, 40) ? 0 : 1, most < 1 ? 1 : most);
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        const test_layout layout = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
        lay(&f->c.views[i], rank, shape, layout, test_one_in(random, 2), offset);
    }
}

uint32_t lines_plans(void)
{
    return tn_dispatch_of(test_context)->plans.count;
}
