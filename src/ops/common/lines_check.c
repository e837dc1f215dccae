/* The self-check of families on lines. */
#include "check/case.h"
#include "ops/common/lines.h"

#include <stdlib.h>

#define LAYOUTS 2

/* The views of operand `number`: dense, or with gaps that differ from operand to operand. */
static tenon_tensor make_view(tenon_dtype dtype, int layout, int64_t number, bool single)
{
    const int64_t one[] = {1}, dense[] = {8341}, block[] = {7, 13, 67};
    tenon_tensor view = tenon_tensor_view(dtype, 1, single ? one : dense);
    if (layout == 1 && !single) {
        view = tenon_tensor_view(dtype, 3, block);
        for (int d = 2; d >= 0; d--)
            view.stride[d] =
                d == 2 ? number % 2 + 1 : view.stride[d + 1] * view.shape[d + 1] + number;
    }
    view.offset = 3 * tenon_dtype_size(dtype);
    return view;
}

typedef struct check {
    tenon_stream *stream;
    const tn_choice *choice;
    const tn_lines_trial *trial;
    tn_twin twins[TENON_LINES_VIEWS];
    const tenon_tensor *views[TENON_LINES_VIEWS]; /* of the host; NULL where absent */
} check;

static bool present(const check *c, uint32_t i)
{
    return c->trial->dtype[i] != TENON_DTYPE_INVALID;
}

static tenon_status make_twins(check *c, int layout, uint64_t *seed)
{
    for (uint32_t i = 0; i < c->trial->of->operand_count; i++) {
        if (!present(c, i))
            continue;
        tenon_tensor view =
            make_view(c->trial->dtype[i], layout, i, (c->trial->single >> i & 1) != 0);
        TN_TRY(tn_twin_create(c->stream, &view, seed, &c->twins[i]));
        c->views[i] = &c->twins[i].host;
    }
    return TENON_OK;
}

static tenon_status run(check *c)
{
    const tn_lines_trial *t = c->trial;
    tn_lines_problem problem;
    t->canonicalise(t->params, c->views, &problem);
    tn_self_check_runs(c->stream, &problem.head);
    tn_recording recording = {.context = c->stream->context};
    tn_operand operands[TENON_LINES_VIEWS] = {0};
    for (uint32_t i = 0; i < t->of->operand_count; i++)
        if (present(c, i))
            operands[i] = (tn_operand){c->twins[i].device.memory, c->twins[i].device.offset};
    const tn_solver *solver = c->choice->solver;
    if (solver->workspace != NULL)
        recording.workspace =
            solver->workspace(c->stream->context, &problem.head, c->choice->values);
    tenon_status status = solver->record(t->of->name, &recording, &problem.head, c->choice->values);
    if (status == TENON_OK)
        status = tn_recording_run(t->of->name, solver->name, c->stream, &recording, operands,
                                  t->scalars, NULL);
    tn_recording_destroy(&recording);
    return status;
}

static int64_t result_count(const check *c)
{
    int64_t count = 0;
    for (uint32_t i = c->trial->of->operand_count - c->trial->of->output_count;
         i < c->trial->of->operand_count; i++)
        if (present(c, i))
            count += tenon_tensor_elements(c->views[i]);
    return count;
}

static tenon_status compare(check *c, const tn_bounded *expected, bool *right, char why[256])
{
    for (uint32_t i = c->trial->of->operand_count - c->trial->of->output_count;
         i < c->trial->of->operand_count && *right; i++) {
        if (!present(c, i))
            continue;
        TN_TRY(tn_twin_fetch(c->stream, &c->twins[i]));
        *right = tn_host_within(c->views[i], expected, why);
        expected += tenon_tensor_elements(c->views[i]);
    }
    return TENON_OK;
}

static tenon_status run_and_compare(check *c, bool *right, char why[256])
{
    tn_bounded *expected = malloc((size_t)result_count(c) * sizeof *expected);
    tenon_status status =
        expected != NULL && c->trial->of->reference(c->trial->params, c->views, expected)
            ? run(c)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", c->trial->of->name);
    if (status == TENON_OK)
        status = compare(c, expected, right, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(c->stream, c->trial->of, c->trial->params, c->twins,
                       c->trial->of->operand_count, c->choice);
    free(expected);
    return status;
}

tenon_status tn_lines_self_check(tenon_stream *stream, const tn_choice *choice,
                                 const tn_lines_trial *trial, bool *right, char why[256])
{
    uint64_t seed = 1;
    for (int layout = 0; layout < LAYOUTS && *right; layout++) {
        check c = {.stream = stream, .choice = choice, .trial = trial};
        tenon_status status = make_twins(&c, layout, &seed);
        if (status == TENON_OK)
            status = run_and_compare(&c, right, why);
        for (uint32_t i = 0; i < trial->of->operand_count; i++)
            tn_twin_destroy(&c.twins[i]);
        TN_TRY(status);
    }
    return TENON_OK;
}
