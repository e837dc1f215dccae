/* The self-checks of pooling's solvers: an awkward problem with the layout of the one at hand. */
#include "check/case.h"
#include "base/dtype.h"
#include "check/host.h"
#include "ops/pool/internal.h"
#include "pool/args.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_N 2
#define CHECK_C 35

typedef struct check {
    tenon_pool_params params;
    tn_twin x, y, indices, dx;
    tn_bounded *expected;
    int64_t *places;
} check;

static tenon_status create(tenon_stream *stream, const pool_problem *like, check *c)
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    bool channels_last = like->x[1] == 1 && like->x[4] != 1;
    tenon_conv_geometry *g = &c->params.geometry;
    uint64_t seed = 1;
    c->params.kind = like->kind;
    c->params.window[0] = 3;
    c->params.window[1] = 2;
    g->stride[0] = 2;
    g->dilation[1] = 2;
    g->pad_begin[0] = g->pad_end[1] = 1;
    g->pad_begin[1] = 2;
    const int64_t shape[] = {CHECK_N, CHECK_C, tenon_conv_output_size(g, 0, 7, 3),
                             tenon_conv_output_size(g, 1, 37, 2)};
    static const int64_t size[] = {7, 37};
    const tenon_tensor x = tn_image_view(dtype, channels_last, CHECK_N, CHECK_C, size),
                       y = tn_image_view(dtype, channels_last, CHECK_N, CHECK_C, &shape[2]),
                       indices = tenon_tensor_view(TENON_DTYPE_I32, 4, shape);
    TN_TRY(tn_twin_create(stream, &x, &seed, &c->x));
    TN_TRY(tn_twin_create(stream, &y, &seed, &c->y));
    TN_TRY(tn_twin_create(stream, &indices, &seed, &c->indices));
    TN_TRY(tn_twin_create(stream, &x, &seed, &c->dx));
    c->expected = malloc((size_t)tenon_tensor_elements(&x) * sizeof *c->expected);
    c->places = malloc((size_t)tenon_tensor_elements(&y) * sizeof *c->places);
    if (c->expected == NULL || c->places == NULL ||
        !tn_pool_forward_reference(&c->params, &c->x.host, &c->y.host, c->expected, c->places))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "pool self-check: no memory");
    return TENON_OK;
}

static void destroy(check *c)
{
    tn_twin_destroy(&c->x);
    tn_twin_destroy(&c->y);
    tn_twin_destroy(&c->indices);
    tn_twin_destroy(&c->dx);
    free(c->expected);
    free(c->places);
}

static bool same_places(const check *c, char why[256])
{
    const int32_t *got = c->indices.host.memory.u.svm;
    for (int64_t i = 0; i < tenon_tensor_elements(&c->indices.host); i++)
        if (got[i] != c->places[i]) {
            snprintf(why, 256, "index %lld is %d, the reference says %lld", (long long)i, got[i],
                     (long long)c->places[i]);
            return false;
        }
    return true;
}

/* With indices where the problem at hand has them. */
static tenon_status forward(tenon_stream *stream, const tn_choice *choice, bool numbers, check *c,
                            bool *right, char why[256])
{
    static const char operation[] = "pool self-check";
    const pool_views views = {"x", "y", &c->x.host, &c->y.host, numbers ? &c->indices.host : NULL,
                              NULL};
    tn_twin twins[POOL_OPERANDS] = {c->x, c->y, c->indices}; /* borrowed */
    pool_problem problem;
    TN_TRY(tn_pool_canonicalise(operation, &c->params, &views, &problem));
    TN_TRY(tn_twin_run(stream, operation, choice, &problem.head, NULL, twins, POOL_OPERANDS));
    TN_TRY(tn_twin_fetch(stream, &c->y));
    *right = tn_host_within(&c->y.host, c->expected, why) && (!numbers || same_places(c, why));
    if (!*right)
        tn_twins_blame(stream, &tn_operation_pool, &c->params, twins,
                       numbers ? POOL_OPERANDS : POOL_INDICES, choice);
    return TENON_OK;
}

/* From the indices, or from x where that is what the problem at hand reads. */
static tenon_status backward(tenon_stream *stream, const tn_choice *choice, bool from_x, check *c,
                             bool *right, char why[256])
{
    static const char operation[] = "pool_backward self-check";
    bool from_indices = c->params.kind == TENON_POOL_MAX && !from_x;
    const tenon_tensor *indices = from_indices ? &c->indices.host : NULL;
    const pool_views views = {"dx", "dy", &c->dx.host, &c->y.host, indices, &c->x.host};
    tn_twin twins[POOL_BACKWARD_OPERANDS] = {c->x, c->y, c->indices, c->dx}; /* borrowed */
    pool_problem problem;
    int32_t *places = c->indices.host.memory.u.svm;
    int64_t count = tenon_tensor_elements(&c->indices.host);
    uint64_t seed = 1 + from_x;
    TN_TRY(tn_twin_fill(stream, &c->dx, &seed));
    for (int64_t i = 0; i < count && from_indices; i++)
        places[i] = (int32_t)c->places[i];
    TN_TRY(tenon_tensor_upload(stream, places, (size_t)count * sizeof *places, &c->indices.device,
                               NULL));
    TN_TRY(tn_pool_canonicalise(operation, &c->params, &views, &problem));
    if (!tn_pool_backward_reference(&c->params, &c->x.host, &c->y.host, indices, &c->dx.host,
                                    c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    TN_TRY(
        tn_twin_run(stream, operation, choice, &problem.head, NULL, twins, POOL_BACKWARD_OPERANDS));
    *right = tn_host_within(&c->dx.host, c->expected, why);
    if (!*right)
        tn_twins_blame(stream, &tn_operation_pool_backward, &c->params, twins,
                       POOL_BACKWARD_OPERANDS, choice);
    return TENON_OK;
}

tenon_status tn_pool_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    check c = {.params = TENON_POOL_PARAMS_INIT};
    const pool_problem *like = (const pool_problem *)problem;
    tenon_status status = create(stream, like, &c);
    if (status == TENON_OK)
        status = forward(stream, choice, (like->flags & POOL_HAS_INDICES) != 0, &c, right, why);
    destroy(&c);
    return status;
}

/* A build serves both sources of the maximum, so both are tried. */
tenon_status tn_pool_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                         const tn_choice *choice, bool *right, char why[256])
{
    const pool_problem *like = (const pool_problem *)problem;
    check c = {.params = TENON_POOL_PARAMS_INIT};
    tenon_status status = create(stream, like, &c);
    if (status == TENON_OK)
        status = backward(stream, choice, false, &c, right, why);
    if (status == TENON_OK && *right && like->kind == TENON_POOL_MAX)
        status = backward(stream, choice, true, &c, right, why);
    destroy(&c);
    return status;
}
