/* Argument validation of tenon_clip, its family, solver and awkward cases. */
#include "check/awkward.h"
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

#include <float.h>
#include <math.h>

#define CPU_CHUNK 8192

static const char *optimizer_clip_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    tn_lines_launch *launch = TN_LAYOUT(tn_lines_launch, choice);
    *launch = (tn_lines_launch){.source = "optimizer/clip",
                                .kernel = "clip",
                                .cpu_chunk = CPU_CHUNK,
                                .numbers = CLIP_SCALARS};
    tn_lines_stream(context, (const tn_lines_problem *)problem, 1, launch, choice->options);
    tn_guard_option((const tn_lines_problem *)problem, choice->options);
    return NULL;
}

static const tn_solver lines_solver = {.name = "lines",
                                       .serves = "everything",
                                       .configure = optimizer_clip_configure,
                                       .launch = tn_lines_launch_choice};

/* Makes cases with a limit that clips and one that does not; the norm is at most 3. With the flag,
 * sums may be negative (the norm is NaN): the two cases have one sum of either sign. */
static bool awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    static const int64_t one[] = {1};
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    const uint32_t way = number / TN_LINES_LAYOUTS;
    tenon_clip_params *params = (tenon_clip_params *)c->params.bytes;
    (void)choice;
    if (way == 3)
        return false;
    tn_awkward_begin(c, p->singles > 0 ? &tn_operation_clip_guarded : &tn_operation_clip);
    params->flags = way == 2 ? TENON_CLIP_SKIP_NONFINITE : 0;
    params->max_norm = way == 1 ? 4 : 0x1p-7;
    c->views[CLIP_SUM] = tn_awkward_view(tn_state_dtype(dtype), 1, one, false);
    c->views[CLIP_X] = tn_lines_awkward(dtype, number % TN_LINES_LAYOUTS, CLIP_X);
    tn_guard_awkward(p, c->views + CLIP_OPERANDS);
    return true;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t optimizer_clip_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags,
                             TENON_CLIP_SKIP_NONFINITE | GUARD_FLAGS);
}

const tn_family tn_clip_family = {
    .name = "clip", TN_SOLVERS(solvers), .awkward = awkward, .paths = optimizer_clip_paths};

/* Steps with a guard. */
const tn_family tn_clip_guarded_family = {
    .name = "clip_guarded", TN_SOLVERS(solvers), .awkward = awkward, .paths = optimizer_clip_paths};

static tenon_status optimizer_clip_check_params(const char *caller, const tenon_clip_params *params)
{
    TN_TRY(tn_number_check(caller, "max_norm", params->max_norm, DBL_MIN, (double)INFINITY));
    return tn_number_check(caller, "epsilon", params->epsilon, 0, (double)INFINITY);
}

tenon_status tn_clip_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_clip_params *params = given;
    const tenon_tensor *views[] = {call->operands[CLIP_SUM].view, call->operands[CLIP_X].view};
    TN_TRY(optimizer_clip_check_params(caller, params));
    TN_TRY(tn_float_check(caller, "x", call->context, views[CLIP_X]->dtype));
    TN_TRY(tn_sum_check(caller, views[CLIP_SUM], views[CLIP_X]->dtype));
    *empty = tn_tensor_empty(views[CLIP_X]);
    tn_lines_canonicalize(views, CLIP_OPERANDS, CLIP_X, (tn_lines_problem *)problem);
    ((tn_lines_problem *)problem)->flags = params->flags;
    call->scalars[CLIP_MOST] = params->max_norm;
    call->scalars[CLIP_EPSILON] = params->epsilon;
    return tn_guard_prepare(call, CLIP_OPERANDS, (tn_lines_problem *)problem);
}
