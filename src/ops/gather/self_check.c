/* The self-checks of gather and its gradient: indices that repeat and that are out of range, on
 * more of them than one work-item sorts, and more rows than one digit counts. */
#include "check/case.h"
#include "base/dtype.h"
#include "check/host.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

#define AXIS  1
#define ROWS  300
#define COUNT (67 * 79)

/* The table, or what is picked from it; contiguous along the last dimension or along the axis, with
 * a gap between lines. */
static tenon_tensor make_view(uint32_t type, bool table, bool along_axis, int64_t inner)
{
    tenon_dtype dtype = (tenon_dtype)type;
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype), .dtype = dtype};
    view.rank = table ? 3 : 4;
    view.shape[0] = 2;
    view.shape[1] = table ? ROWS : 67;
    view.shape[2] = 79;
    view.shape[view.rank - 1] = inner;
    int64_t step = 1, last = view.rank - 1;
    if (!along_axis) {
        view.stride[last] = step;
        step = inner + 1;
    }
    for (int64_t d = last - 1; d > 0; d--) {
        view.stride[d] = step;
        step *= view.shape[d];
    }
    if (along_axis) {
        view.stride[last] = step + 1;
        step = view.stride[last] * inner;
    }
    view.stride[0] = step + 5;
    return view;
}

static tenon_tensor make_indices(void)
{
    return (tenon_tensor){
        .offset = 4, .dtype = TENON_DTYPE_I32, .rank = 2, .shape = {67, 79}, .stride = {81, 1}};
}

/* Rows of the table and a few past either end, few of them often. */
static tenon_status set_indices(tenon_stream *stream, uint64_t *seed, tn_twin *twin)
{
    int32_t *values = malloc(COUNT * sizeof *values);
    if (values == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "gather self-check: no memory");
    for (int64_t i = 0; i < COUNT; i++) {
        double u = tn_random(seed);
        values[i] = (int32_t)(i % 3 == 0 ? 3 * u : (ROWS + 4) * (u + 1) / 2 - 2);
        char *at = (char *)twin->host.memory.u.svm + twin->host.offset +
                   (i / 79 * 81 + i % 79) * (int64_t)sizeof *values;
        tn_dtype_store(TENON_DTYPE_I32, at, values[i]);
    }
    tenon_status status =
        tenon_tensor_upload(stream, values, COUNT * sizeof *values, &twin->device, NULL);
    free(values);
    return status;
}

static tenon_status compare(tenon_stream *stream, const tn_choice *choice, bool backward,
                            tn_twin *twins, bool *right, char why[256])
{
    static const char operation[] = "gather self-check";
    const double scalars[TN_MAX_SCALARS] = {0};
    tenon_gather_params params = TENON_GATHER_PARAMS_INIT;
    const tenon_tensor *from = &twins[GATHER_FROM].host, *to = &twins[GATHER_TO].host,
                       *indices = &twins[GATHER_INDICES].host;
    union {
        tn_problem head;
        gather_problem forward;
        gather_backward_problem backward;
    } problem;
    params.axis = AXIS;
    if (backward)
        tn_gather_backward_canonicalise(from, indices, to, AXIS, &problem.backward);
    else
        tn_gather_canonicalise(from, indices, to, AXIS, &problem.forward);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(to) * sizeof *expected);
    bool whole = expected != NULL &&
                 (backward ? tn_gather_backward_reference(AXIS, from, indices, to, expected)
                           : tn_gather_reference(AXIS, from, indices, to, expected));
    tenon_status status = whole ? tn_twin_run(stream, operation, choice, &problem.head, scalars,
                                              twins, GATHER_OPERANDS)
                                : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(to, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, backward ? &tn_operation_gather_backward : &tn_operation_gather,
                       &params, twins, GATHER_OPERANDS, choice);
    free(expected);
    return status;
}

static tenon_status check_layouts(tenon_stream *stream, const tn_choice *choice, uint32_t dtype,
                                  bool backward, bool *right, char why[256])
{
    uint64_t seed = 1;
    tenon_status status = TENON_OK;
    *right = true;
    for (int layout = 0; layout < 2 && *right && status == TENON_OK; layout++) {
        const int64_t inner = layout == 0 ? 83 : 5;
        const tenon_tensor views[] = {make_view(dtype, !backward, layout == 1, inner),
                                      make_indices(),
                                      make_view(dtype, backward, layout == 1, inner)};
        tn_twin twins[GATHER_OPERANDS] = {0};
        for (int i = 0; i < GATHER_OPERANDS && status == TENON_OK; i++)
            status = tn_twin_create(stream, &views[i], &seed, &twins[i]);
        if (status == TENON_OK)
            status = set_indices(stream, &seed, &twins[GATHER_INDICES]);
        if (status == TENON_OK)
            status = compare(stream, choice, backward, twins, right, why);
        for (int i = 0; i < GATHER_OPERANDS; i++)
            tn_twin_destroy(&twins[i]);
    }
    return status;
}

tenon_status tn_gather_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    return check_layouts(stream, choice, ((const gather_problem *)problem)->dtype, false, right,
                         why);
}

tenon_status tn_gather_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                           const tn_choice *choice, bool *right, char why[256])
{
    return check_layouts(stream, choice, ((const gather_backward_problem *)problem)->dtype, true,
                         right, why);
}
