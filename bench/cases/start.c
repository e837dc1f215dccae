/* Startup costs: contexts, plans, first calls, and the cost of a call on a small problem. The
 * kernels are already compiled: the driver has cached them, or a first round has waited for them.
 */
#include "judge.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

#define SIZE  32
#define STEPS 100

typedef struct setting {
    tenon_tensor x, y; /* in the session's context */
    tenon_plan *plan;
    tenon_sequence *sequence;
    tenon_context *context; /* the session's context */
    const char *device;
} setting;

static bool make_context(void *data, tenon_stream *stream, int turn)
{
    const setting *s = data;
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = NULL;
    (void)stream;
    (void)turn;
    params.device = s->device;
    bool well = BENCH_WELL(tenon_context_create(&params, &context));
    tenon_context_release(context);
    return well;
}

/* Does everything from start to a first result. */
static bool first_product(void *data, tenon_stream *stream, int turn)
{
    const setting *s = data;
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = NULL;
    tenon_stream *own = NULL;
    tenon_tensor x = {0}, y = {0};
    (void)stream;
    (void)turn;
    params.device = s->device;
    bool well = BENCH_WELL(tenon_context_create(&params, &context)) &&
                BENCH_WELL(tenon_stream_create(context, NULL, &own)) &&
                BENCH_WELL(tenon_tensor_create(context, TENON_DTYPE_F32, 2, s->x.shape, &x)) &&
                BENCH_WELL(tenon_tensor_create(context, TENON_DTYPE_F32, 2, s->y.shape, &y)) &&
                BENCH_WELL(tenon_tensor_fill(own, &x, 1, NULL)) &&
                BENCH_WELL(tenon_gemm(own, NULL, &x, &x, NULL, NULL, &y, NULL)) &&
                BENCH_WELL(tenon_stream_finish(own));
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&y.memory);
    tenon_stream_destroy(own);
    tenon_context_release(context);
    return well;
}

static bool make_plan(void *data, tenon_stream *stream, int turn)
{
    const setting *s = data;
    tenon_plan *plan = NULL;
    (void)stream;
    (void)turn;
    bool well =
        BENCH_WELL(tenon_gemm_plan(s->context, NULL, &s->x, &s->x, NULL, NULL, &s->y, &plan));
    tenon_plan_release(plan);
    return well;
}

static bool call_at_once(void *data, tenon_stream *stream, int turn)
{
    const setting *s = data;
    (void)turn;
    return BENCH_WELL(tenon_gemm(stream, NULL, &s->x, &s->x, NULL, NULL, &s->y, NULL));
}

static bool run_plan(void *data, tenon_stream *stream, int turn)
{
    const setting *s = data;
    const tenon_memory memories[] = {s->x.memory, s->x.memory, {0}, {0}, s->y.memory};
    (void)turn;
    return BENCH_WELL(tenon_plan_run(stream, s->plan, memories, 5, NULL));
}

static bool run_plans(void *data, tenon_stream *stream, int turn)
{
    for (int i = 0; i < STEPS; i++)
        if (!run_plan(data, stream, turn))
            return false;
    return true;
}

static bool run_sequence(void *data, tenon_stream *stream, int turn)
{
    const setting *s = data;
    (void)turn;
    return BENCH_WELL(tenon_sequence_run(stream, s->sequence, NULL, 0, NULL, 0, NULL));
}

/* Makes a sequence that runs the plan repeatedly. */
static bool make_sequence(setting *s)
{
    const tenon_tensor *const tensors[] = {&s->x, &s->x, NULL, NULL, &s->y};
    if (!BENCH_WELL(tenon_sequence_create(s->context, &s->sequence)))
        return false;
    for (int i = 0; i < STEPS; i++)
        if (!BENCH_WELL(tenon_sequence_add(s->sequence, NULL, s->plan, tensors, 5, NULL, 0)))
            return false;
    return BENCH_WELL(tenon_sequence_finish(s->sequence));
}

static const struct {
    const char *name;
    bool (*call)(void *data, tenon_stream *stream, int turn);
    bool waits;
} cases[] = {
    {"a context", make_context, true},
    {"a context and a first product", first_product, true},
    {"a plan", make_plan, true},
    {"32x32x32 by an immediate call", call_at_once, false},
    {"32x32x32 by a plan", run_plan, false},
    {"100 of 32x32x32 by plans", run_plans, false},
    {"100 of 32x32x32 by a sequence", run_sequence, false},
};

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return sizeof cases / sizeof *cases;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s", cases[number].name);
}

static void destroy(bench_case *bench)
{
    setting *s = bench->tenon.data;
    tenon_sequence_release(s->sequence);
    tenon_plan_release(s->plan);
    tenon_memory_destroy(&s->x.memory);
    tenon_memory_destroy(&s->y.memory);
    free(s);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    (void)suite;
    const int64_t shape[] = {SIZE, SIZE};
    setting *s = calloc(1, sizeof *s);
    if (s == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", cases[number].call, cases[number].waits, s, NULL, NULL};
    bench->destroy = destroy;
    s->context = session->context;
    s->device = session->device.selector;
    if (!BENCH_WELL(tenon_tensor_create(session->context, dtype, 2, shape, &s->x)) ||
        !BENCH_WELL(tenon_tensor_create(session->context, dtype, 2, shape, &s->y)) ||
        !BENCH_WELL(tenon_tensor_fill(session->stream, &s->x, 1, NULL)))
        return false;
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const tenon_tensor *const views[] = {&s->x, &s->x, NULL, NULL, &s->y};
    return bench_plan(session, &tn_operation_gemm, &params, views, bench, &s->plan) &&
           make_sequence(s);
}

static const bench_kind functions = {count, name_of, bench_only_f32, make};

const bench_suite bench_suite_start = {"start", "startup, and a call on a small problem",
                                       &functions, 1, NULL};
