/* Argument validation of tenon_nonfinite, its family, solver, reference and awkward cases. */
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/common/epilogue.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define CPU_CHUNK 8192

static const char *nonfinite_configure(tenon_context *context, const tn_problem *problem,
                                       tn_choice *choice)
{
    tn_lines_launch *launch = TN_LAYOUT(tn_lines_launch, choice);
    *launch = (tn_lines_launch){
        .source = "optimizer/nonfinite", .kernel = "nonfinite", .cpu_chunk = CPU_CHUNK};
    tn_lines_stream(context, (const tn_lines_problem *)problem, 1, launch, choice->options);
    return NULL;
}

/* Records the launch that sets the flag to 0. */
static tenon_status record_clear(const char *caller, tn_recording *recording, const char *options)
{
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, NONFINITE_FLAG,
         (uint16_t)(offsetof(lines_args, offset) + NONFINITE_FLAG * sizeof(tenon_i64)),
         sizeof(int32_t)}};
    const lines_args args = {.rank = 1};
    const tn_launch launch = {.source = "optimizer/nonfinite",
                              .options = options,
                              .kernel = "nonfinite_clear",
                              .dimensions = 1,
                              .global = {1},
                              .local = {1},
                              .operands = {NONFINITE_FLAG},
                              .operand_count = 1,
                              TN_ARGS(args),
                              TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

static tenon_status nonfinite_launch(const char *caller, tn_recording *recording,
                                     const tn_problem *problem, const tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    if ((p->flags & TENON_NONFINITE_KEEP) == 0)
        TN_TRY(record_clear(caller, recording, choice->options));
    return tn_lines_launch_choice(caller, recording, problem, choice);
}

static const tn_solver lines_solver = {.name = "lines",
                                       .serves = "everything",
                                       .configure = nonfinite_configure,
                                       .launch = nonfinite_launch};

static bool nonfinite_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                              tn_case *c)
{
    static const int64_t one[] = {1};
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    (void)choice;
    if (number == 4 * TN_LINES_LAYOUTS)
        return false;
    tn_awkward_begin(c, &tn_operation_nonfinite);
    ((tenon_nonfinite_params *)c->params.bytes)->flags = number % 2 == 0 ? TENON_NONFINITE_KEEP : 0;
    c->views[NONFINITE_X] =
        tn_lines_awkward((tenon_dtype)p->dtype, number / 2 % TN_LINES_LAYOUTS, 1);
    c->views[NONFINITE_FLAG] = tn_awkward_view(TENON_DTYPE_I32, 1, one, false);
    return true;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t nonfinite_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags, TENON_NONFINITE_KEEP);
}

const tn_family tn_nonfinite_family = {.name = "nonfinite",
                                       TN_SOLVERS(solvers),
                                       .awkward = nonfinite_awkward,
                                       .paths = nonfinite_paths};

tenon_status tn_nonfinite_prepare(const void *given, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tenon_nonfinite_params *params = given;
    const tenon_tensor *views[] = {call->operands[NONFINITE_X].view,
                                   call->operands[NONFINITE_FLAG].view};
    const char *caller = call->caller;
    TN_TRY(tn_float_check(caller, "x", call->context, views[NONFINITE_X]->dtype));
    if (views[NONFINITE_FLAG]->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: flag is %s, must be i32", caller,
                       tenon_dtype_string(views[NONFINITE_FLAG]->dtype));
    TN_TRY(tn_single_check(caller, "flag", views[NONFINITE_FLAG], true));
    *empty = false;
    tn_lines_canonicalize(views, NONFINITE_OPERANDS, NONFINITE_X, (tn_lines_problem *)problem);
    ((tn_lines_problem *)problem)->flags = params->flags;
    return TENON_OK;
}

bool tn_nonfinite_reference(const void *user, const tenon_tensor *const *views, tn_bounded *results)
{
    const tenon_nonfinite_params *params = user;
    const tenon_tensor *x = views[NONFINITE_X], *flag = views[NONFINITE_FLAG];
    double *values = tn_host_read(x, x->rank, x->shape);
    double *old = tn_host_read(flag, flag->rank, flag->shape);
    const bool whole = values != NULL && old != NULL;
    if (whole) {
        const bool keeps = (params->flags & TENON_NONFINITE_KEEP) != 0;
        double result = keeps ? old[0] : 0;
        for (int64_t i = 0; i < tenon_tensor_elements(x); i++)
            if (!isfinite(values[i]))
                result = (double)((int64_t)result | 1);
        results[0] = (tn_bounded){result, 0};
    }
    free(values);
    free(old);
    return whole;
}
