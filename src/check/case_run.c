/* Execution of cases. */
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/case.h"
#include "check/host.h"
#include "dispatch/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A case with its memory and reference results. */
typedef struct trial {
    const tn_case *c;
    tn_mirror mirrors[TN_MAX_OPERANDS];
    unsigned char *before[TN_MAX_OPERANDS]; /* each operand's bytes before the call */
    const tenon_tensor *host[TN_MAX_OPERANDS], *device[TN_MAX_OPERANDS];
    tenon_plan *plan;
    tn_bounded *expected;
    bool exact; /* results must match the reference exactly */
} trial;

static void fill(const tenon_tensor *view, double (*draw)(const double *range, uint64_t *seed),
                 const double range[2], uint64_t *seed)
{
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t rows = tn_host_rows(view); rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(view, index);
        for (int64_t i = 0; i < row.count; i++)
            tn_dtype_store(view->dtype, row.first + i * row.step, draw(range, seed));
    }
}

static double draw_real(const double *range, uint64_t *seed)
{
    return range[0] + (range[1] - range[0]) * (tn_random(seed) + 1) / 2;
}

static double draw_integer(const double *range, uint64_t *seed)
{
    return fmin(range[1], floor(range[0] + (range[1] - range[0] + 1) * (tn_random(seed) + 1) / 2));
}

static void fill_unwritten(const tenon_tensor *view)
{
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t rows = tn_host_rows(view); rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(view, index);
        for (int64_t i = 0; i < row.count; i++)
            tn_put_unwritten(view->dtype, row.first + i * row.step);
    }
}

void tn_case_reals(const tenon_tensor *view, double low, double high, uint64_t *seed)
{
    const double range[] = {low, high};
    fill(view, draw_real, range, seed);
}

static double draw_tail(const double *range, uint64_t *seed)
{
    const bool is_far = tn_random(seed) > 1.0 / 3.0;
    return is_far ? draw_real(range, seed) : tn_random(seed);
}

void tn_case_tails(const tenon_tensor *view, uint64_t *seed)
{
    static const double range[] = {-100, 0};
    fill(view, draw_tail, range, seed);
}

void tn_case_integers(const tenon_tensor *view, int64_t low, int64_t high, uint64_t *seed)
{
    const double range[] = {(double)low, (double)high};
    fill(view, draw_integer, range, seed);
}

/* Returns whether operand `number` is identical to an output, or else to an input. */
static bool is_shared(const tn_case *c, uint32_t number, bool to_output)
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (tn_operation_writes(c->operation, i) == to_output &&
            (c->same[i] == number + 1 || c->same[number] == i + 1))
            return true;
    return false;
}

static bool is_read(const tn_case *c, uint32_t number)
{
    return c->operation->operands[number].read || is_shared(c, number, false);
}

static bool is_written(const tn_case *c, uint32_t number)
{
    return tn_operation_writes(c->operation, number) || is_shared(c, number, true);
}

/* Creates memory with random values for each operand, then resolves operands identical to another.
 */
static tenon_status create(tenon_stream *stream, trial *t)
{
    const tn_case *c = t->c;
    uint64_t seed = c->seed;
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->views[i].dtype != TENON_DTYPE_INVALID && c->same[i] == 0) {
            TN_TRY(tn_mirror_create(stream, &c->views[i], &seed, &t->mirrors[i]));
            t->host[i] = &t->mirrors[i].host;
            t->device[i] = &t->mirrors[i].device;
        }
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->same[i] != 0) {
            t->host[i] = t->host[c->same[i] - 1];
            t->device[i] = t->device[c->same[i] - 1];
        }
    return TENON_OK;
}

#define MAX_INTEGER 3

/* Replaces values that the operation does not allow. Outputs that are not read are filled with
 * values that are no results. */
static tenon_status fill_operands(tenon_stream *stream, trial *t)
{
    const tn_operation *operation = t->c->operation;
    uint64_t seed = t->c->seed;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        if (t->mirrors[i].host.memory.kind == TENON_MEMORY_NONE)
            continue;
        if (tn_operation_writes(operation, i) && !is_read(t->c, i))
            fill_unwritten(&t->mirrors[i].host);
        else if (t->c->integers)
            tn_case_integers(&t->mirrors[i].host,
                             tn_dtype_is_unsigned(t->mirrors[i].host.dtype) ? 0 : -MAX_INTEGER,
                             MAX_INTEGER, &seed);
    }
    if (operation->fill_valid != NULL)
        operation->fill_valid(t->c->params.bytes, t->host, &seed);
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        const tn_mirror *mirror = &t->mirrors[i];
        if (mirror->host.memory.kind == TENON_MEMORY_NONE)
            continue;
        size_t size;
        t->before[i] = tn_to_size(tn_mirror_bytes(&mirror->host), &size) ? malloc(size) : NULL;
        if (t->before[i] == NULL)
            return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation->name);
        memcpy(t->before[i], mirror->host.memory.u.svm, size);
        TN_TRY(tn_mirror_upload(stream, mirror));
    }
    return TENON_OK;
}

/* Computes the reference, with the error bounds of the solver named in `params`. */
static tenon_status compute_reference(trial *t, const void *params)
{
    const tn_operation *operation = t->c->operation;
    int64_t count = 0;
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (t->host[i] != NULL && tn_operation_writes(operation, i))
            count += tenon_tensor_elements(t->host[i]);
    t->expected = tn_array(count, sizeof *t->expected);
    if (t->expected == NULL || !operation->reference(params, t->host, t->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the reference",
                       operation->name);
    return TENON_OK;
}

/* Returns the number of a type within the bound that is farthest from 0; infinite on overflow. */
static double farthest(tenon_dtype dtype, tn_bounded expected)
{
    unsigned char element[8];
    tn_dtype_store(dtype, element, expected.value + copysign(expected.bound, expected.value));
    return tn_dtype_load(dtype, element);
}

/* Compares one element and updates the largest ratio of error to bound. */
static bool agrees(bool exact, tenon_dtype dtype, double got, tn_bounded expected,
                   double *error_over_bound)
{
    const double ratio = fabs(got - expected.value) / expected.bound;
    if (exact && isfinite(expected.value) && got != expected.value)
        return false;
    if (isinf(got) && got == farthest(dtype, expected))
        return true;
    if (expected.bound > 0 && isfinite(expected.bound) && ratio > *error_over_bound)
        *error_over_bound = ratio;
    return tn_within(got, expected);
}

static void report_element(const trial *t, uint32_t number, int64_t at, double got,
                           tn_bounded expected, tn_case_result *result)
{
    snprintf(result->why, sizeof result->why,
             "%s: element %" PRId64 " of %" PRId64 " is %.9g, the reference is %.9g within %.3g",
             t->c->operation->operands[number].name, at,
             tenon_tensor_elements(&t->mirrors[number].host), got, expected.value,
             t->exact ? 0 : expected.bound);
}

/* The same for an element whose bound is TN_WHOLE. */
static void report_whole(const trial *t, uint32_t number, int64_t at, const void *element,
                         tn_bounded expected, tn_case_result *result)
{
    const tenon_tensor *view = &t->mirrors[number].host;
    snprintf(result->why, sizeof result->why,
             "%s: element %" PRId64 " of %" PRId64 " is %" PRId64 ", the reference is %" PRId64,
             t->c->operation->operands[number].name, at, tenon_tensor_elements(view),
             tn_dtype_load_whole(view->dtype, element), tn_whole_value(expected));
}

static bool elements_agree(const trial *t, uint32_t number, const tn_bounded *expected,
                           tn_case_result *result)
{
    const tenon_tensor *view = &t->mirrors[number].host;
    int64_t index[TENON_MAX_RANK] = {0}, at = 0;
    for (int64_t rows = tn_host_rows(view); rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(view, index);
        for (int64_t i = 0; i < row.count; i++, at++) {
            const char *element = row.first + i * row.step;
            const double got = tn_result_load(view->dtype, element);
            const bool is_whole = expected[at].bound == TN_WHOLE;
            if (is_whole
                    ? tn_is_whole(view->dtype, element, expected[at])
                    : agrees(t->exact, view->dtype, got, expected[at], &result->error_over_bound))
                continue;
            if (is_whole)
                report_whole(t, number, at, element, expected[at], result);
            else
                report_element(t, number, at, got, expected[at], result);
            return false;
        }
    }
    return true;
}

/* Returns true if all bytes except an output's elements are unchanged. Overwrites those elements
 * with their old values to compare whole buffers. */
static bool rest_is_unchanged(const trial *t, uint32_t number, bool output, tn_case_result *result)
{
    const tenon_tensor *view = &t->mirrors[number].host;
    const char *memory = view->memory.u.svm;
    int64_t index[TENON_MAX_RANK] = {0};
    const size_t size = tenon_dtype_size(view->dtype);
    for (int64_t rows = output ? tn_host_rows(view) : 0; rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(view, index);
        const unsigned char *before = t->before[number] + (row.first - memory);
        for (int64_t i = 0; i < row.count; i++)
            memcpy(row.first + i * row.step, before + i * row.step, size);
    }
    if (memcmp(memory, t->before[number], (size_t)tn_mirror_bytes(view)) == 0)
        return true;
    snprintf(result->why, sizeof result->why, "%s: %s was overwritten",
             t->c->operation->operands[number].name,
             output ? "memory outside its elements" : "an input");
    return false;
}

/* Compares outputs with the reference, and all other memory with its old content. */
static tenon_status compare(tenon_stream *stream, trial *t, tn_case_result *result)
{
    const tn_operation *operation = t->c->operation;
    const tn_bounded *expected = t->expected;
    for (uint32_t i = 0; i < operation->operand_count && result->right; i++) {
        const uint32_t own = t->c->same[i] != 0 ? t->c->same[i] - 1 : i;
        const bool output = tn_operation_writes(operation, i);
        if (t->host[i] == NULL || (!output && (own != i || is_written(t->c, i))))
            continue;
        TN_TRY(tn_mirror_fetch(stream, &t->mirrors[own]));
        result->right = (!output || elements_agree(t, own, expected, result)) &&
                        rest_is_unchanged(t, own, output, result);
        if (output)
            expected += tenon_tensor_elements(t->host[i]);
    }
    return TENON_OK;
}

/* Plans the call, which rejects malformed arguments before the reference sees them. */
static tenon_status plan(tenon_stream *stream, trial *t, const void *params, tn_case_result *result)
{
    static const char refusal[] = "cannot serve: ";
    tenon_status status =
        tn_operation_call_plan(t->c->operation, stream->context, params, t->device, &t->plan);
    const char *reason = strstr(tenon_last_error(), refusal);
    if (status == TENON_ERROR_UNSUPPORTED && strchr(t->c->solver, '/') != NULL && reason != NULL) {
        result->served = false;
        snprintf(result->why, sizeof result->why, "%s", reason + strlen(refusal));
        return TENON_OK;
    }
    TN_TRY(status);
    snprintf(result->solver, sizeof result->solver, "%s", t->plan->name);
    return TENON_OK;
}

/* Runs the call. A self-check runs the plan itself, since a call could use a plan that an earlier
 * check left in the plan table. */
static tenon_status call(tenon_stream *stream, const trial *t, const void *params)
{
    tenon_memory memories[TN_MAX_OPERANDS] = {{0}};
    const uint32_t count = t->c->operation->operand_count;
    if (stream->context->owner == NULL)
        return tn_operation_call(t->c->operation, stream, params, t->device, NULL);
    for (uint32_t i = 0; i < count; i++)
        if (t->device[i] != NULL)
            memories[i] = t->device[i]->memory;
    return tenon_plan_run(stream, t->plan, memories, count, NULL);
}

static tenon_status run_trial(tenon_stream *stream, trial *t, tn_case_result *result)
{
    const bool chosen = stream->context->owner != NULL; /* the self-check has chosen the solver */
    const char *forced = strchr(t->c->solver, '/') != NULL && !chosen ? t->c->solver : NULL;
    tn_case_params params = t->c->params;
    params.head.solver = forced;
    TN_TRY(create(stream, t));
    TN_TRY(plan(stream, t, &params, result));
    if (!result->served)
        return TENON_OK;
    TN_TRY(fill_operands(stream, t));
    const tn_solver *solver = tn_solver_named(t->c->operation->family, result->solver);
    t->exact = t->c->integers && (solver == NULL || !solver->inexact);
    params.head.solver = result->solver;
    TN_TRY(compute_reference(t, &params));
    params.head.solver = forced;
    TN_TRY(call(stream, t, &params));
    TN_TRY(tenon_stream_finish(stream));
    return compare(stream, t, result);
}

tenon_status tn_case_run(tenon_stream *stream, const tn_case *c, tn_case_result *result)
{
    *result = (tn_case_result){.served = true, .right = true};
    trial *t = calloc(1, sizeof *t);
    if (t == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", c->operation->name);
    t->c = c;
    tenon_status status = run_trial(stream, t, result);
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++) {
        tn_mirror_destroy(&t->mirrors[i]);
        free(t->before[i]);
    }
    tenon_plan_release(t->plan);
    free(t->expected);
    free(t);
    return status;
}
