/* Tests the advice on layouts: the calls on simulated devices for which it is given, in the log and
 * to a listener, and those for which it is not. */
#include "common/testing.h"

#include "check/case.h"
#include "dispatch/alternatives.h"
#include "dispatch/state.h"
#include "ops/packed/internal.h"
#include "ops/registry.h"
#include "runtime/context/target.h"

#include <stdio.h>
#include <string.h>

typedef struct advice {
    int listened, logged;
    char heard[TN_ADVICE_SIZE], logged_line[1024];
} advice;

static void listen(void *user, const tn_request *request, const tn_choice *choice)
{
    advice *a = user;
    (void)choice;
    a->listened += tn_layout_advice(request, a->heard);
}

static void receive(void *user, tenon_log_level level, const char *message)
{
    advice *a = user;
    assert_int_equal(level, TENON_LOG_INFO);
    a->logged++;
    snprintf(a->logged_line, sizeof a->logged_line, "%s", message);
}

/* Opens a context of a kind whose log is that of a verbose context or, if not `verbose`, of an
 * application that receives the same levels. */
static tenon_context *target(const char *kind, bool verbose, advice *a)
{
    tenon_context *context;
    *a = (advice){.listened = 0};
    assert_int_equal(tn_target_context(tn_device_kind_named(kind), NULL, NULL, &context), TENON_OK);
    context->reports.is_verbose = verbose;
    context->reports.log = (tn_log){receive, a, TENON_LOG_INFO};
    tn_dispatch_of(context)->listener = listen;
    tn_dispatch_of(context)->listener_user = a;
    return context;
}

static void plan(tenon_context *context, const char *line, const char *solver, tenon_dtype dtype)
{
    tenon_plan *made = NULL;
    tn_case c;
    memset(&c, 0, sizeof c);
    if (tn_case_parse_line(line, dtype, &c) != TENON_OK ||
        tn_case_plan(context, &c, solver, &made) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    tenon_plan_release(made);
}

#define LAST  "the images had their channels last"
#define FIRST "the images had their channels first"

static const struct {
    const char *kind;
    tenon_dtype dtype;
    const char *line, *condition; /* the condition is NULL if there is no advice */
} calls[] = {
    {"cpu_16", TENON_DTYPE_F32,
     "conv x=T:8x2048x2x2 w=T:2048x1x3x3 y=T:8x2048x2x2 pad_begin=1,1 pad_end=1,1 groups=2048",
     LAST},
    {"cpu_16", TENON_DTYPE_F32,
     "conv x=T:8x2048x2x2/8192,1,4096,2048 w=T:2048x1x3x3 y=T:8x2048x2x2/8192,1,4096,2048 "
     "pad_begin=1,1 pad_end=1,1 groups=2048",
     NULL},
    {"cpu_8", TENON_DTYPE_F32,
     "conv x=T:8x2x224x224/100352,1,448,2 w=T:2x1x3x3 c=T:1x2x1x1 y=T:8x2x224x224/100352,1,448,2 "
     "pad_begin=1,1 pad_end=1,1 groups=2 beta=1",
     FIRST},
    {"cpu_16", TENON_DTYPE_F32,
     "conv x=T:8x64x56x56 w=T:64x64x3x3 y=T:8x64x56x56 pad_begin=1,1 pad_end=1,1", NULL},
    {"cpu_16", TENON_DTYPE_F16,
     "conv_backward_data dy=T:8x2048x7x7 w=T:2048x512x1x1 dx=T:8x512x7x7", LAST},
    {"cpu_16", TENON_DTYPE_F32,
     "conv_backward_data dy=T:8x64x56x56 w=T:64x64x3x3 dx=T:8x64x56x56 pad_begin=1,1 pad_end=1,1",
     NULL},
    {"cpu_16", TENON_DTYPE_F32,
     "conv_transpose x=T:8x2048x2x2 w=T:2048x1x3x3 y=T:8x2048x2x2 pad_begin=1,1 pad_end=1,1 "
     "groups=2048",
     LAST},
    {"sm_90", TENON_DTYPE_F16,
     "conv_backward_filter x=T:8x512x7x7 dy=T:8x2048x7x7 dw=T:2048x512x1x1", LAST},
    {"sm_90", TENON_DTYPE_F32,
     "conv_backward_filter x=T:8x512x7x7 dy=T:8x2048x7x7 dw=T:2048x512x1x1", NULL},
    {"gfx1100", TENON_DTYPE_F16, "gemm a=T:1024x1024/4096,4 b=T:1024x1024 d=T:1024x1024",
     "a were stored row by row without gaps"},
    {"sm_90", TENON_DTYPE_F16, "gemm a=T:1024x1024 b=T:1024x1024/2048,2 d=T:1024x1024",
     "b were stored row by row without gaps"},
    /* d is contiguous along its columns, so the canonical product exchanges a and b. */
    {"sm_90", TENON_DTYPE_F16, "gemm a=T:1024x1024/2,2048 b=T:1024x1024 d=T:1024x1024/1,1024",
     "a were stored row by row without gaps"},
    {"sm_90", TENON_DTYPE_F16, "gemm a=T:1024x1024 b=T:1024x1024/1,1024 d=T:1024x1024", NULL},
    {"cpu_16", TENON_DTYPE_F32, "gemm a=T:64x4096/2,128 b=T:4096x64 d=T:64x64", NULL},
    {"cpu_16", TENON_DTYPE_F32, "softmax x=T:65536x21/1,65536 y=T:65536x21/1,65536", NULL},
};

/* Compares what was heard and logged. */
static void assert_advice(const advice *a, const char *what, const char *caller,
                          const char *condition)
{
    if (condition == NULL) {
        if (a->listened != 0 || a->logged != 0)
            fail_msg("%s: unexpected advice: %s", what, a->heard);
        return;
    }
    char expected[1024];
    snprintf(expected, sizeof expected, "%s: %s", caller, a->heard);
    if (a->listened != 1 || strstr(a->heard, condition) == NULL)
        fail_msg("%s: advice %d: %s", what, a->listened, a->heard);
    if (a->logged != 1 || strcmp(a->logged_line, expected) != 0)
        fail_msg("%s: logged %d: %s", what, a->logged, a->logged_line);
}

TEST(advice_where_another_layout_halves_the_time)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        advice a;
        char caller[64];
        tenon_context *context = target(calls[i].kind, true, &a);
        plan(context, calls[i].line, NULL, calls[i].dtype);
        snprintf(caller, sizeof caller, "tenon_%.*s%s_plan", (int)strcspn(calls[i].line, " "),
                 calls[i].line,
                 strncmp(calls[i].line, "conv ", 5) == 0 || strncmp(calls[i].line, "conv_t", 6) == 0
                     ? "_forward"
                     : "");
        assert_advice(&a, calls[i].line, caller, calls[i].condition);
        tenon_context_release(context);
    }
}

TEST(the_advice_states_both_times)
{
    advice a;
    int percent;
    double less, more;
    tenon_context *context = target(calls[0].kind, true, &a);
    plan(context, calls[0].line, NULL, calls[0].dtype);
    assert_int_equal(sscanf(a.heard,
                            "the same call would take about %d %% of the time (%lf of %lf ms) if "
                            "the images had their channels last",
                            &percent, &less, &more),
                     3);
    assert_true(less > 0 && less <= 0.5 * more);
    assert_true(percent > 99 * less / more - 1 && percent < 101 * less / more + 1);
    tenon_context_release(context);
}

TEST(nothing_is_logged_by_default)
{
    advice a;
    tenon_context *context = target(calls[0].kind, false, &a);
    plan(context, calls[0].line, NULL, calls[0].dtype);
    assert_int_equal(a.listened, 1);
    assert_int_equal(a.logged, 0);
    tenon_context_release(context);
}

/* The caller has selected the solver, perhaps for its other properties. */
TEST(a_forced_solver_gets_no_advice)
{
    advice a;
    tenon_context *context = target(calls[0].kind, true, &a);
    plan(context, calls[0].line, "conv/depthwise", calls[0].dtype);
    assert_int_equal(a.listened + a.logged, 0);
    tenon_context_release(context);
}

/* Plans a depthwise convolution with filters in panels. The object needs no memory for a plan. */
static void plan_packed(tenon_context *context, int64_t channels, int64_t size, bool last)
{
    const int64_t image[] = {8, channels, size, size}, stored[] = {8, size, size, channels},
                  filter[] = {channels, 1, 3, 3}, elements[] = {1 << 20};
    const tenon_tensor x = last ? tenon_tensor_nhwc(tenon_tensor_view(TENON_DTYPE_F32, 4, stored))
                                : tenon_tensor_view(TENON_DTYPE_F32, 4, image);
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_packed packed = {.context = context,
                           .kind = PACKED_FILTER,
                           .layout = PACKED_FILTER_PANELS,
                           .panel = tn_packed_panel(context, TENON_DTYPE_F32),
                           .view = tenon_tensor_view(TENON_DTYPE_F32, 4, filter),
                           .memory = tenon_tensor_view(TENON_DTYPE_F32, 1, elements),
                           .dense_at = 1 << 19};
    tenon_plan *made = NULL;
    atomic_init(&packed.references, 1);
    params.groups = channels;
    for (int d = 0; d < 2; d++)
        params.geometry.pad_begin[d] = params.geometry.pad_end[d] = 1;
    if (tenon_conv_forward_packed_plan(context, &params, &x, &packed, NULL, NULL, &x, &made) !=
        TENON_OK)
        fail_msg("%s", tenon_last_error());
    tenon_plan_release(made);
    assert_int_equal(atomic_load(&packed.references), 1);
}

TEST(advice_for_packed_filters)
{
    static const struct {
        int64_t channels, size;
        bool last;
        const char *condition;
    } images[] = {
        {960, 4, false, LAST}, {960, 4, true, NULL}, {2, 224, true, FIRST}, {2, 224, false, NULL}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        advice a;
        char what[32];
        tenon_context *context = target("cpu_16", true, &a);
        plan_packed(context, images[i].channels, images[i].size, images[i].last);
        snprintf(what, sizeof what, "packed filters %zu", i);
        assert_advice(&a, what, "tenon_conv_forward_packed_plan", images[i].condition);
        tenon_context_release(context);
    }
}
