/* Random index modes. */
#include "index_case.h"

#include "ops/gather/internal.h"
#include "ops/registry.h"

static void draw_slices(index_case *p, test_random *random)
{
    p->index_rank = (uint32_t)test_between(random, 0, 3);
    for (uint32_t d = 0; d < p->index_rank; d++)
        p->indices[d] = test_between(random, 1, 9);
    for (uint32_t d = 0; d < p->axis; d++)
        p->picked[p->picked_rank++] = p->table[d];
    for (uint32_t d = 0; d < p->index_rank; d++)
        p->picked[p->picked_rank++] = p->indices[d];
    for (uint32_t d = p->axis + 1; d < p->rank; d++)
        p->picked[p->picked_rank++] = p->table[d];
}

static void draw_elements(index_case *p, test_random *random)
{
    p->index_rank = p->picked_rank = p->rank;
    for (uint32_t d = 0; d < p->rank; d++)
        p->picked[d] = p->indices[d] = test_between(random, 1, d == p->axis ? 30 : p->table[d]);
}

static void draw_tuples(index_case *p, test_random *random)
{
    const uint32_t count = (uint32_t)test_between(random, 1, p->rank - p->axis),
                   more = (uint32_t)test_between(random, 0, 2);
    for (uint32_t d = 0; d < p->axis + more; d++)
        p->picked[p->picked_rank++] = p->indices[p->index_rank++] =
            d < p->axis ? p->table[d] : test_between(random, 1, 12);
    p->indices[p->index_rank++] = count;
    for (uint32_t d = p->axis + count; d < p->rank; d++)
        p->picked[p->picked_rank++] = p->table[d];
}

index_case draw_index_case(test_random *random)
{
    index_case p = {.mode = (uint32_t)test_between(random, 0, TENON_INDEX_TUPLES),
                    .flags = (uint32_t)test_between(random, 0, TENON_INDEX_FROM_END),
                    .rank = (uint32_t)test_between(random, 1, 4)};
    p.axis = (uint32_t)test_between(random, 0, p.rank - 1);
    /* One dimension may be long: a solver reads all indices for each element of a result. */
    const uint32_t longest = (uint32_t)test_between(random, 0, 7);
    for (uint32_t d = 0; d < p.rank; d++)
        p.table[d] = test_between(random, 1, d == longest ? 40 : 6);
    if (p.mode == TENON_INDEX_SLICES)
        draw_slices(&p, random);
    else if (p.mode == TENON_INDEX_ELEMENTS)
        draw_elements(&p, random);
    else
        draw_tuples(&p, random);
    return p;
}

static tenon_tensor draw_view(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape)
{
    return test_view(dtype, (test_layout)test_between(random, 0, TEST_LAYOUTS - 1),
                     test_one_in(random, 2), rank, shape, test_between(random, 0, 7));
}

void begin_index_case(test_fixture *f, const tn_operation *operation, const index_case *p,
                      uint32_t scatter_op, tenon_dtype dtype, test_random *random)
{
    const bool is_gather = operation == &tn_operation_gather;
    test_begin(f, operation);
    if (operation == &tn_operation_scatter)
        *test_params(f, tenon_scatter_params) =
            tenon_scatter_params(.flags = p->flags, .axis = (int32_t)p->axis, .mode = p->mode,
                                 .op = scatter_op);
    else
        *test_params(f, tenon_gather_params) =
            tenon_gather_params(.flags = p->flags, .axis = (int32_t)p->axis, .mode = p->mode);
    f->c.views[is_gather ? GATHER_FROM : GATHER_TO] = draw_view(random, dtype, p->rank, p->table);
    f->c.views[is_gather ? GATHER_TO : GATHER_FROM] =
        draw_view(random, dtype, p->picked_rank, p->picked);
    f->c.views[GATHER_INDICES] =
        draw_view(random, test_one_in(random, 3) ? TENON_DTYPE_I64 : TENON_DTYPE_I32, p->index_rank,
                  p->indices);
    if (test_one_in(random, 5) && f->c.views[GATHER_FROM].rank > 0)
        f->c.views[GATHER_FROM].stride[0] = 0;
}
