#include "line.h"

#include "dispatch/plan.h"
#include "ops/registry.h"

#include <stdio.h>
#include <string.h>

/* Makes the operands, with values that the operation allows. */
static bool make_operands(bench_session *session, int64_t limit, bench_line *l)
{
    const tn_case *c = &l->text;
    const tenon_tensor *host[TN_MAX_OPERANDS] = {NULL};
    uint64_t seed = 1;
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->views[i].dtype != TENON_DTYPE_INVALID) {
            if (!BENCH_WELL(tn_mirror_create(session->stream, &c->views[i], &seed, &l->mirrors[i])))
                return false;
            host[i] = &l->mirrors[i].host;
        }
    if (c->operation->fill_valid == NULL)
        return true;
    c->operation->fill_valid(c->params.bytes, host, &seed);
    for (uint32_t i = 0; i < c->operation->operand_count && limit > 0; i++)
        if (host[i] != NULL && strcmp(c->operation->operands[i].name, "indices") == 0)
            tn_case_integers(host[i], 0, limit - 1, &seed);
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (host[i] != NULL && !BENCH_WELL(tn_mirror_upload(session->stream, &l->mirrors[i])))
            return false;
    return true;
}

bool bench_line_make(bench_session *session, const char *text, tenon_dtype dtype, int64_t limit,
                     bench_line *line)
{
    return BENCH_WELL(tn_case_parse_line(text, dtype, &line->text)) &&
           BENCH_WELL(tn_case_plan(session->context, &line->text, session->options->solver,
                                   &line->plan)) &&
           (session->stream == NULL || make_operands(session, limit, line));
}

void bench_line_destroy(bench_line *line)
{
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++)
        tn_mirror_destroy(&line->mirrors[i]);
    tenon_plan_release(line->plan);
}

bool bench_line_run(void *data, tenon_stream *stream, int turn)
{
    const bench_line *line = data;
    const uint32_t count = line->text.operation->operand_count;
    tenon_memory memories[TN_MAX_OPERANDS] = {{0}};
    (void)turn;
    for (uint32_t i = 0; i < count; i++)
        memories[i] = line->mirrors[i].device.memory;
    return BENCH_WELL(tenon_plan_run(stream, line->plan, memories, count, NULL));
}

bool bench_line_verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const bench_line *line = data;
    tn_case_result result;
    memset(&result, 0, sizeof result);
    if (!BENCH_WELL(tn_case_run(stream, &line->text, &result)))
        return false;
    *error_over_bound = result.error_over_bound;
    snprintf(why, 256, "%s", result.why);
    return result.served && result.right;
}

/* Returns the number of elements in memory: a broadcast dimension has one. */
static double elements_of(const tenon_tensor *view)
{
    double elements = 1;
    for (uint32_t d = 0; d < view->rank; d++)
        elements *= view->stride[d] != 0 ? (double)view->shape[d] : 1;
    return elements;
}

/* Returns the number of elements of the first result. */
static double result_elements(const tn_case *c)
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->views[i].dtype != TENON_DTYPE_INVALID && tn_operation_writes(c->operation, i))
            return elements_of(&c->views[i]);
    return 0;
}

double bench_line_bytes(const bench_line *line, const char *picked)
{
    const tn_case *c = &line->text;
    double bytes = 0;
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        if (c->views[i].dtype == TENON_DTYPE_INVALID)
            continue;
        const bool is_picked =
            picked != NULL && strcmp(c->operation->operands[i].name, picked) == 0;
        const double elements = is_picked ? result_elements(c) : elements_of(&c->views[i]);
        bytes += elements * (double)tenon_dtype_size(c->views[i].dtype);
    }
    return bytes;
}

/* Returns the view of the operand; NULL if the call has none of this name. */
static const tenon_tensor *operand_named(const tn_case *c, const char *name)
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (strcmp(c->operation->operands[i].name, name) == 0 &&
            c->views[i].dtype != TENON_DTYPE_INVALID)
            return &c->views[i];
    return NULL;
}

static bool is_product(const tn_operation *operation)
{
    return operation == &tn_operation_gemm || operation == &tn_operation_gemm_int8 ||
           operation == &tn_operation_gemm_post || operation == &tn_operation_gemm_ragged ||
           operation == &tn_operation_gemm_packed_post;
}

double bench_line_operations(const bench_line *line)
{
    const tn_case *c = &line->text;
    const tn_operation *operation = c->operation;
    const tenon_tensor *a = operand_named(c, "a"), *w = operand_named(c, "w");
    if (is_product(operation) && a->rank >= 2)
        return 2 * result_elements(c) * (double)a->shape[a->rank - 1];
    if (operation == &tn_operation_conv || operation == &tn_operation_conv_int8 ||
        operation == &tn_operation_conv_post)
        return 2 * result_elements(c) * (double)tenon_tensor_elements(w) / (double)w->shape[0];
    return 0;
}

void bench_line_describe(bench_line *line, bench_case *bench)
{
    bench->plan = &line->plan;
    snprintf(bench->solver, sizeof bench->solver, "%s", line->plan->name);
    tn_case_text(&line->text, bench->repeat);
}
