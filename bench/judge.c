#include "judge.h"

#include "base/dtype.h"
#include "dispatch/plan.h"
#include "dispatch/request.h"
#include "dispatch/state.h"
#include "ops/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds that the reference computes in a moment. */
#define MOMENT ((double)(1 << 24))

bool bench_plan(bench_session *session, const tn_operation *operation, const void *params,
                const tenon_tensor *const *views, bench_case *bench, tenon_plan **plan)
{
    tn_case c;
    if (!bench_went_well(tn_operation_call_plan(operation, session->context, params, views, plan),
                         operation->name))
        return false;
    if (bench == NULL)
        return true;
    bench->plan = plan;
    snprintf(bench->solver, sizeof bench->solver, "%s", (*plan)->name);
    tn_case_make(operation, params, views, (*plan)->name, 1, &c);
    tn_case_text(&c, bench->repeat);
    return true;
}

/* Notes the text of the call that is being planned. Children have no call. */
static void note_call(void *user, const tn_request *request, const tn_choice *choice)
{
    if (request->call != NULL && choice != NULL)
        tn_call_text(request->call, user);
}

bool bench_plan_packed(bench_session *session, bench_case *bench, tenon_plan **plans,
                       uint32_t copies)
{
    tn_dispatch *dispatch = tn_dispatch_of(session->context);
    const char *solver = session->options->solver;
    tn_case c;
    bool well = dispatch != NULL;
    bench->plan = plans;
    bench->copies = copies;
    if (well) {
        dispatch->listener = note_call;
        dispatch->listener_user = bench->repeat;
    }
    for (uint32_t i = 0; well && i < copies; i++)
        well = bench->replan(session, bench->tenon.data, i, solver, &plans[i]);
    if (dispatch != NULL)
        dispatch->listener = NULL;
    if (!well || !bench_case_of(bench, &c))
        return false;
    snprintf(bench->solver, sizeof bench->solver, "%s", plans[0]->name);
    snprintf(c.solver, sizeof c.solver, "%s", plans[0]->name);
    tn_case_text(&c, bench->repeat);
    return true;
}

bool bench_case_of(const bench_case *bench, tn_case *c)
{
    static const char begins[] = "tenon check ";
    const size_t skipped =
        strncmp(bench->repeat, begins, sizeof begins - 1) == 0 ? sizeof begins - 1 : 0;
    return BENCH_WELL(tn_case_parse_line(bench->repeat + skipped, TENON_DTYPE_INVALID, c));
}

/* Compares the elements of a part with the expected values. */
static bool judge(const bench_part *part, tenon_dtype dtype, const unsigned char *got,
                  int64_t count, const tn_bounded *expected, double *error_over_bound,
                  char why[256])
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t element = part->first + i * (part->step != 0 ? part->step : 1);
        const double value = tn_dtype_load(dtype, got + element * tenon_dtype_size(dtype));
        const double ratio = fabs(value - expected[i].value) / expected[i].bound;
        if (expected[i].bound > 0 && ratio > *error_over_bound)
            *error_over_bound = ratio;
        if (!tn_within(value, expected[i])) {
            snprintf(why, 256, "element %lld is %.9g, must be %.9g within %.3g", (long long)element,
                     value, expected[i].value, expected[i].bound);
            return false;
        }
    }
    return true;
}

/* Returns the number of the first output. */
static uint32_t first_output(const tn_operation *operation)
{
    uint32_t i = 0;
    while (!tn_operation_writes(operation, i))
        i++;
    return i;
}

static bool verify_part(const bench_parts *parts, int64_t number, const unsigned char *got,
                        double *error_over_bound, char why[256])
{
    const tn_operation *operation = parts->operation;
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    bench_part part;
    memset(&part, 0, sizeof part);
    memcpy(part.params.bytes, parts->params, operation->params_size);
    part.params.head.solver = parts->solver;
    parts->cut(parts->data, number, &part);
    for (uint32_t i = 0; i < operation->operand_count; i++)
        views[i] = part.views[i].dtype != TENON_DTYPE_INVALID ? &part.views[i] : NULL;
    const tenon_tensor *result = &part.views[first_output(operation)];
    const int64_t count = tenon_tensor_elements(result);
    tn_bounded *expected = malloc(((size_t)count + 1) * sizeof *expected);
    const bool well = expected != NULL && operation->reference(&part.params, views, expected) &&
                      judge(&part, result->dtype, got, count, expected, error_over_bound, why);
    free(expected);
    return well;
}

bool bench_verify(tenon_stream *stream, const bench_parts *parts, double *error_over_bound,
                  char why[256])
{
    const int64_t in_a_moment = (int64_t)(MOMENT / parts->work) + 2,
                  verified = in_a_moment < parts->count ? in_a_moment : parts->count;
    unsigned char *got = bench_output(stream, parts->operands, parts->result);
    bool well = got != NULL;
    for (int64_t i = 0; well && i < verified; i++) {
        const int64_t number = verified > 1 ? i * (parts->count - 1) / (verified - 1) : 0;
        well = verify_part(parts, number, got, error_over_bound, why);
    }
    free(got);
    return well;
}
