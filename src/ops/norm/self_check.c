/* The self-check of normalization's solvers: all kinds, whose vectors lie along the sets and
 * across them, with tails and several pieces. */
#include "base/shape.h"
#include "check/case.h"
#include "check/host.h"
#include "ops/norm/internal.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

/* Elements of a piece: so that these small sets have several. */
#define PIECE 72
/* Also what keeps a random variance above 0. */
#define EPSILON 1.5
#define GROUPS  3

static const struct kind {
    tenon_norm_kind kind;
    tenon_tensor x, parameter, statistic; /* shapes alone */
} kinds[] = {{TENON_NORM_BATCH,
              {.rank = 4, .shape = {3, 19, 5, 7}},
              {.rank = 1, .shape = {19}},
              {.rank = 1, .shape = {19}}},
             {TENON_NORM_GROUP,
              {.rank = 3, .shape = {2, 12, 83}},
              {.rank = 1, .shape = {12}},
              {.rank = 2, .shape = {2, GROUPS}}},
             {TENON_NORM_LAYER,
              {.rank = 2, .shape = {5, 227}},
              {.rank = 1, .shape = {227}},
              {.rank = 1, .shape = {5}}},
             {TENON_NORM_RMS,
              {.rank = 2, .shape = {21, 67}},
              {.rank = 1, .shape = {67}},
              {.rank = 1, .shape = {21}}},
             {TENON_NORM_BATCH, /* whose lines merge */
              {.rank = 3, .shape = {3, 19, 37}},
              {.rank = 1, .shape = {19}},
              {.rank = 1, .shape = {19}}}};
#define KINDS (sizeof kinds / sizeof *kinds)

/* One run; operands in their public order. */
typedef struct trial {
    tenon_norm_params params;
    bool backward, given;
    tn_twin twins[NORM_FORWARD_OPERANDS];
    uint32_t count; /* the last of them is there */
} trial;

static norm_views views_of(const trial *t)
{
    const tenon_tensor *host[NORM_FORWARD_OPERANDS] = {0};
    for (uint32_t i = 0; i < t->count; i++)
        host[i] = t->twins[i].host.rank > 0 ? &t->twins[i].host : NULL;
    if (t->backward)
        return tn_norm_backward_views(host, t->given);
    return t->given ? tn_norm_inference_views(host) : tn_norm_forward_views(host);
}

/* With gaps between rows; the last dimension is contiguous, or `across` the one that numbers sets.
 */
static void lay_out(tenon_tensor *view, bool across, uint32_t channel, int64_t gap)
{
    uint32_t order[TENON_MAX_RANK], count = 0;
    int64_t step = 1;
    for (uint32_t d = 0; d < view->rank; d++)
        if (!across || d != channel)
            order[count++] = d;
    if (across)
        order[count++] = channel;
    while (count-- > 0) {
        view->stride[order[count]] = step;
        step = step * view->shape[order[count]] + gap;
    }
}

static tenon_tensor view_of(const trial *t, const norm_problem *like, const struct kind *kind,
                            int number, bool across)
{
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const tenon_dtype acc = dtype == TENON_DTYPE_F64 ? dtype : TENON_DTYPE_F32;
    const int shape = tn_norm_shape_of(t->backward, number);
    tenon_tensor view = shape == NORM_X       ? kind->x
                        : shape == NORM_GAMMA ? kind->parameter
                                              : kind->statistic;
    view.dtype = shape == NORM_X || (shape == NORM_GAMMA && !like->parameter_acc) ? dtype : acc;
    view.offset = 3 * tenon_dtype_size(view.dtype);
    lay_out(&view, across && shape == NORM_X, kind->x.rank == 2 ? 0 : 1, number % 3);
    return view;
}

/* What the problem at hand may have and has not, for other reasons than its kind. */
static bool is_left_out(const trial *t, const norm_problem *like, int number)
{
    const bool optional = number == NORM_GAMMA || number >= NORM_Y ||
                          (!t->backward && !t->given && number >= NORM_MEAN);
    const bool is_rms = (like->flags & NORM_CENTERED) == 0;
    if (!optional || (number == NORM_Y && !t->backward))
        return false;
    if (is_rms && (number == NORM_MEAN || number == (t->backward ? NORM_DBETA : NORM_BETA)))
        return false;
    return (like->flags & NORM_HAS(number)) == 0;
}

static bool is_absent(const trial *t, const norm_problem *like, int number)
{
    if (is_left_out(t, like, number))
        return true;
    const bool rms = t->params.kind == TENON_NORM_RMS;
    if (rms && (number == NORM_MEAN || number == (t->backward ? NORM_DBETA : NORM_BETA)))
        return true;
    return !t->backward && t->params.kind != TENON_NORM_BATCH && number >= NORM_RUNNING_MEAN;
}

static tenon_status create(tenon_stream *stream, trial *t, const norm_problem *like,
                           const struct kind *kind, bool across)
{
    const norm_views numbers = views_of(t); /* without views yet */
    const uint32_t operands = t->count;
    uint64_t seed = 1;
    t->count = 0;
    for (int number = 0; number < NORM_VIEWS; number++) {
        const uint32_t operand = numbers.operand[number];
        if (numbers.name[number] == NULL || is_absent(t, like, number) || operand >= operands)
            continue;
        const tenon_tensor view = view_of(t, like, kind, number, across);
        TN_TRY(tn_twin_create(stream, &view, &seed, &t->twins[operand]));
        t->count = operand >= t->count ? operand + 1 : t->count;
    }
    return TENON_OK;
}

/* What is expected of the outputs, in the order of the kernels' operands from `first` on. */
typedef struct expectation {
    tn_bounded *of[NORM_VIEWS];
} expectation;

static bool expect(const trial *t, const norm_views *views, expectation *e)
{
    for (int v = NORM_MEAN; v < NORM_VIEWS; v++)
        if (views->view[v] != NULL) {
            size_t count = (size_t)tenon_tensor_elements(views->view[v]);
            if ((e->of[v] = calloc(count + 1, sizeof **e->of)) == NULL)
                return false;
        }
    if (t->backward) {
        const norm_backward_results results = {e->of[NORM_DX], e->of[NORM_DGAMMA],
                                               e->of[NORM_DBETA]};
        return tn_norm_backward_reference(&t->params, views, &results);
    }
    const norm_forward_results results = {e->of[NORM_Y], t->given ? NULL : e->of[NORM_MEAN],
                                          t->given ? NULL : e->of[NORM_RSTD],
                                          e->of[NORM_RUNNING_MEAN], e->of[NORM_RUNNING_VARIANCE]};
    return tn_norm_forward_reference(&t->params, views, &results);
}

static bool is_output(const trial *t, int number)
{
    if (number == NORM_Y)
        return true;
    return t->backward ? number >= NORM_DGAMMA
                       : !t->given && number != NORM_BETA && number >= NORM_MEAN;
}

static tenon_status compare(tenon_stream *stream, trial *t, const tn_choice *choice, bool *right,
                            char why[256])
{
    static const char operation[] = "norm self-check";
    const double scalars[TN_MAX_SCALARS] = {
        [NORM_SCALAR_EPSILON] = EPSILON, [NORM_SCALAR_MOMENTUM] = t->params.momentum};
    const norm_views views = views_of(t);
    expectation e = {{NULL}};
    norm_problem problem;
    tn_norm_canonicalise(&t->params, &views, &problem);
    problem.piece = PIECE;
    if (choice->solver->refuses(stream->context, &problem.head) != NULL)
        return TENON_OK;
    tenon_status status =
        expect(t, &views, &e)
            ? tn_twin_run(stream, operation, choice, &problem.head, scalars, t->twins, t->count)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    for (int v = NORM_MEAN; v < NORM_VIEWS && status == TENON_OK && *right; v++)
        if (views.view[v] != NULL && is_output(t, v)) {
            status = tn_twin_fetch(stream, &t->twins[views.operand[v]]);
            *right = status != TENON_OK || tn_host_within(views.view[v], e.of[v], why);
        }
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream,
                       t->backward ? &tn_operation_norm_backward
                       : t->given  ? &tn_operation_norm_inference
                                   : &tn_operation_norm,
                       &t->params, t->twins, t->count, choice);
    for (int v = 0; v < NORM_VIEWS; v++)
        free(e.of[v]);
    return status;
}

static tenon_status check_choice(tenon_stream *stream, const tn_problem *problem,
                                 const tn_choice *choice, bool backward, bool *right, char why[256])
{
    const norm_problem *like = (const norm_problem *)problem;
    const bool given = (like->flags & NORM_GIVEN) != 0;
    *right = true;
    /* Given statistics are batch normalization's alone, which comes first. */
    for (size_t i = 0; i < 2 * (given ? 1 : KINDS) && *right; i++) {
        const struct kind *kind = &kinds[i / 2];
        trial t = {.params = TENON_NORM_PARAMS_INIT, .backward = backward, .given = given};
        t.params.kind = kind->kind;
        t.params.groups = GROUPS;
        t.params.epsilon = EPSILON;
        t.count = given && !backward ? NORM_INFERENCE_OPERANDS : NORM_FORWARD_OPERANDS;
        tenon_status status = create(stream, &t, like, kind, i % 2 != 0);
        if (status == TENON_OK)
            status = compare(stream, &t, choice, right, why);
        for (int o = 0; o < NORM_FORWARD_OPERANDS; o++)
            tn_twin_destroy(&t.twins[o]);
        TN_TRY(status);
    }
    return TENON_OK;
}

static tenon_status check(tenon_stream *stream, const tn_problem *problem, const tn_choice *choice,
                          bool backward, bool *right, char why[256])
{
    tn_choice small = *choice;
    TN_TRY(check_choice(stream, problem, choice, backward, right, why));
    if (!*right || strcmp(choice->solver->name, tn_norm_group.name) != 0)
        return TENON_OK;
    small.values[0] = 1; /* a team that these sets are too large to be kept by */
    return check_choice(stream, problem, &small, backward, right, why);
}

tenon_status tn_norm_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    return check(stream, problem, choice, false, right, why);
}

tenon_status tn_norm_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                         const tn_choice *choice, bool *right, char why[256])
{
    return check(stream, problem, choice, true, right, why);
}
