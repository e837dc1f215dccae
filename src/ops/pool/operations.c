/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "check/case.h"
#include "ops/pool/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

static const char *const kinds[] = {"max", "average", "average_inside", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_pool_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_pool_params, kind, kinds),
    TN_FIELD_ARRAY("window", TN_FIELD_I64, tenon_pool_params, window),
    TN_GEOMETRY_FIELDS(tenon_pool_params, geometry)};

TN_OPERATION_DEFAULTS(pool, tenon_pool_params)
TN_OPERATION_CALLS(forward, tenon_pool_forward, v[POOL_X], v[POOL_Y], v[POOL_INDICES])
TN_OPERATION_CALLS(backward, tenon_pool_backward, v[POOL_BACKWARD_X], v[POOL_BACKWARD_DY],
                   v[POOL_BACKWARD_INDICES], v[POOL_BACKWARD_DX])

/* The places are exact. */
static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    const int64_t count = tenon_tensor_elements(v[POOL_Y]);
    int64_t *places = malloc(((size_t)count + 1) * sizeof *places);
    const bool indexed = v[POOL_INDICES] != NULL;
    const bool whole =
        places != NULL &&
        tn_pool_forward_reference(params, v[POOL_X], v[POOL_Y], expected, indexed ? places : NULL);
    for (int64_t i = 0; whole && indexed && i < count; i++)
        expected[count + i] = (tn_bounded){(double)places[i], 0};
    free(places);
    return whole;
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return tn_pool_backward_reference(params, v[POOL_BACKWARD_X], v[POOL_BACKWARD_DY],
                                      v[POOL_BACKWARD_INDICES], v[POOL_BACKWARD_DX], expected);
}

/* Places in the plane, some of which lie in their windows. */
static void settle_indices(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *dx = v[POOL_BACKWARD_DX];
    int64_t plane = 1;
    (void)params;
    for (uint32_t d = 2; d < dx->rank; d++)
        plane *= dx->shape[d];
    if (v[POOL_BACKWARD_INDICES] != NULL)
        tn_case_integers(v[POOL_BACKWARD_INDICES], 0, plane - 1, seed);
}

static const char *const forward_examples[] = {
    "pool x=T:2x3x5x6 y=T:2x3x5x5 indices=i32:2x3x5x5 window=1,2",
    "pool x=T:2x19x37x41+3 y=T:2x19x19x21 indices=i32:2x19x19x21 window=3,3 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    "pool x=T:2x35x17x19/11305,1,665,35 y=T:2x35x8x9/2520,1,315,35 kind=average window=2,2 "
    "stride=2,2",
    "pool x=T:3x7x100 y=T:3x7x33 kind=average_inside window=5 stride=3 pad_begin=1 pad_end=1",
    "pool x=T:2x5x6x7x8 y=T:2x5x3x3x4 window=2,3,2 stride=2,2,2",
    "pool x=T:2x70x9x9 y=T:2x70x1x1 kind=average flags=1",
    NULL,
};

const tn_operation tn_operation_pool = {
    .name = "tenon_pool_forward",
    .family = &tn_pool_family,
    .operands = {{.name = "x"}, {.name = "y"}, {.name = "indices", .optional = true}},
    .operand_count = 3,
    .output_count = 2,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_pool_params),
    .defaults = default_pool,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .examples = forward_examples,
};

static const char *const backward_examples[] = {
    "pool_backward x=T:2x3x5x6 dy=T:2x3x5x5 indices=i32:2x3x5x5 dx=T:2x3x5x6 window=1,2",
    "pool_backward x=T:2x19x37x41+3 dy=T:2x19x19x21 dx=T:2x19x37x41 window=3,3 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    "pool_backward dy=T:2x35x8x9/2520,1,315,35 dx=T:2x35x17x19/11305,1,665,35 kind=average "
    "window=2,2 stride=2,2",
    "pool_backward dy=T:3x7x33 indices=i32:3x7x33 dx=T:3x7x100 window=5 stride=3 pad_begin=1 "
    "pad_end=1",
    "pool_backward dy=T:2x70x1x1 dx=T:2x70x9x9 kind=average_inside flags=1",
    NULL,
};

const tn_operation tn_operation_pool_backward = {
    .name = "tenon_pool_backward",
    .family = &tn_pool_backward_family,
    .operands = {{.name = "x", .optional = true},
                 {.name = "dy"},
                 {.name = "indices", .optional = true},
                 {.name = "dx"}},
    .operand_count = 4,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_pool_params),
    .defaults = default_pool,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .settle = settle_indices,
    .examples = backward_examples,
};
