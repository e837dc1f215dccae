/* Memory-bound operations on arrays of rows × 1024. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/loop.h"
#include "peers/peers.h"

#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

#define COLS       BENCH_LOOP_COLS
#define MOST_VIEWS 8
#define ABSENT     (-1)

/* The operands of a case: up to three inputs and the result. */
enum { X0, X1, X2, Y, CASE_OPERANDS };

/* The operations, and the case's operand for each operand of the operation. */
typedef enum which { ACTIVATION, ADD, CHAIN, COPY, REDUCE, SOFTMAX, NORM } which;
static const struct call_of {
    const tn_operation *operation;
    int order[MOST_VIEWS];
} calls[] = {
    [ACTIVATION] = {&tn_operation_activation, {X0, Y}},
    [ADD] = {&tn_operation_elementwise, {X0, X1, Y}},
    [CHAIN] = {&tn_operation_elementwise_chain, {X0, X1, ABSENT, ABSENT, Y}},
    [COPY] = {&tn_operation_copy, {X0, Y}},
    [REDUCE] = {&tn_operation_reduce, {X0, Y}},
    [SOFTMAX] = {&tn_operation_softmax, {X0, Y}},
    [NORM] = {&tn_operation_norm, {X0, X1, X2, Y, ABSENT, ABSENT, ABSENT, ABSENT}},
};

typedef struct kind {
    which call;
    bench_loop_kind loop;
    int inputs;
    bool vectors; /* inputs except the first have COLS elements */
} kind;

static const kind kinds[BENCH_PASSES] = {
    [BENCH_PASS_COPY] = {COPY, BENCH_LOOP_COPY, 1, false},
    [BENCH_PASS_SCALE] = {CHAIN, BENCH_LOOP_SCALE, 1, false},
    [BENCH_PASS_RELU] = {ACTIVATION, BENCH_LOOP_RELU, 1, false},
    [BENCH_PASS_ADD] = {ADD, BENCH_LOOP_ADD, 2, false},
    [BENCH_PASS_SAXPY] = {CHAIN, BENCH_LOOP_SAXPY, 2, false},
    [BENCH_PASS_BIAS_GELU] = {CHAIN, BENCH_LOOP_BIAS_GELU, 2, true},
    [BENCH_PASS_TRANSPOSE] = {COPY, BENCH_LOOP_TRANSPOSE, 1, false},
    [BENCH_PASS_SUM] = {REDUCE, BENCH_LOOP_SUM, 1, false},
    [BENCH_PASS_MAX] = {REDUCE, BENCH_LOOP_MAX, 1, false},
    [BENCH_PASS_ROW_SUMS] = {REDUCE, BENCH_LOOP_ROW_SUM, 1, false},
    [BENCH_PASS_SOFTMAX] = {SOFTMAX, BENCH_LOOP_SOFTMAX, 1, false},
    [BENCH_PASS_LAYER_NORM] = {NORM, BENCH_LOOP_LAYER_NORM, 3, true},
};

typedef struct pass {
    const kind *kind;
    int64_t rows;
    bench_operands operands;
    tenon_plan *plan;
    tn_case_params params;
    bench_loop loop;
} pass;

static const tn_operation *operation_of(const pass *p)
{
    return calls[p->kind->call].operation;
}

/* Returns the case's operand for an operand of the operation. */
static int operand_of(const pass *p, uint32_t number)
{
    const int operand = calls[p->kind->call].order[number];
    return operand == Y || operand < p->kind->inputs ? operand : ABSENT;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const pass *p = data;
    const tenon_memory *m = p->operands.memory[turn % p->operands.copies];
    const uint32_t operands = operation_of(p)->operand_count;
    tenon_memory memories[MOST_VIEWS] = {{0}};
    for (uint32_t i = 0; i < operands; i++)
        if (operand_of(p, i) != ABSENT)
            memories[i] = m[operand_of(p, i)];
    return BENCH_WELL(tenon_plan_run(stream, p->plan, memories, operands, NULL));
}

/* Makes the views of some rows of the result and of the operands they depend on. A sum over all
 * elements has one row. */
static void views_of(const pass *p, int64_t first, int64_t rows, tenon_tensor views[CASE_OPERANDS])
{
    const bench_operand *o = p->operands.operand;
    const bool all = o[Y].view.rank == 0;
    for (int i = X0; i < p->kind->inputs; i++)
        views[i] = o[i].host;
    if (p->kind->loop == BENCH_LOOP_TRANSPOSE)
        views[X0] = tenon_tensor_transpose(views[X0], 0, 1);
    for (int i = X0; i < p->kind->inputs && !all; i++)
        if (views[i].rank == 2)
            views[i] = tenon_tensor_slice(views[i], 0, first, rows);
    views[Y] = all ? o[Y].view : tenon_tensor_slice(o[Y].view, 0, first, rows);
}

/* Returns the number of rows that are compared together: the largest up to 16 that divides the rows
 * of the result. */
static int64_t rows_of_part(const pass *p)
{
    const tenon_tensor *y = &p->operands.operand[Y].view;
    int64_t rows = y->rank == 0 ? 1 : 16;
    while (y->rank > 0 && y->shape[0] % rows != 0)
        rows--;
    return rows;
}

static void cut(const void *data, int64_t number, bench_part *part)
{
    const pass *p = data;
    const tenon_tensor *y = &p->operands.operand[Y].view;
    const int64_t rows = rows_of_part(p), width = y->rank > 1 ? y->shape[1] : 1;
    tenon_tensor views[CASE_OPERANDS] = {{{0}}};
    views_of(p, number * rows, rows, views);
    for (uint32_t i = 0; i < operation_of(p)->operand_count; i++)
        if (operand_of(p, i) != ABSENT)
            part->views[i] = views[operand_of(p, i)];
    part->first = number * rows * width;
}

/* Verifies the first and the last rows of the result, or all of it if it is one number. */
static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const pass *p = data;
    const tenon_tensor *y = &p->operands.operand[Y].view;
    const bench_parts parts = {
        operation_of(p),  &p->params, p->plan->name,
        &p->operands,     Y,          (y->rank > 0 ? y->shape[0] : 1) / rows_of_part(p),
        (double)INFINITY, cut,        p};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    pass *p = bench->tenon.data;
    tenon_plan_release(p->plan);
    bench_operands_destroy(&p->operands);
    free(p);
}

static void add_operands(pass *p, tenon_dtype dtype)
{
    const int64_t shape[] = {p->rows, COLS}, turned[] = {COLS, p->rows};
    for (int i = X0; i < Y; i++)
        if (i >= p->kind->inputs)
            bench_operand_add_absent(&p->operands);
        else if (i > X0 && p->kind->vectors)
            bench_operand_add(&p->operands, dtype, 1, shape + 1, false);
        else
            bench_operand_add(&p->operands, dtype, 2, shape, false);
    switch (p->kind->loop) {
    case BENCH_LOOP_SUM:
    case BENCH_LOOP_MAX:
        bench_operand_add(&p->operands, dtype, 0, shape, true);
        break;
    case BENCH_LOOP_ROW_SUM:
        bench_operand_add(&p->operands, dtype, 1, shape, true);
        break;
    default:
        bench_operand_add(&p->operands, dtype, 2,
                          p->kind->loop == BENCH_LOOP_TRANSPOSE ? turned : shape, true);
        break;
    }
}

static void set_steps(const pass *p, tenon_elementwise_chain_params *chain)
{
    chain->step_count = p->kind->loop == BENCH_LOOP_BIAS_GELU ? 2 : 1;
    switch (p->kind->loop) {
    case BENCH_LOOP_SCALE:
        chain->steps[0] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = 1.5};
        break;
    case BENCH_LOOP_SAXPY:
        chain->steps[0] =
            (tenon_chain_step){.op = TENON_CHAIN_FMA, .addend = TENON_CHAIN_X1, .alpha = 2.5};
        break;
    default:
        chain->steps[0] = (tenon_chain_step){.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1};
        chain->steps[1] = (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE,
                                             .activation = TENON_ACTIVATION_GELU_TANH};
        break;
    }
}

static void set_parameters(pass *p, const char *solver)
{
    void *params = p->params.bytes;
    tenon_reduce_params *reduce = params;
    tn_operation_defaults(operation_of(p), params);
    p->params.head.solver = solver;
    if (p->kind->call == ACTIVATION)
        ((tenon_activation_params *)params)->activation.kind = TENON_ACTIVATION_RELU;
    if (p->kind->call == CHAIN)
        set_steps(p, params);
    if (p->kind->call == REDUCE) {
        reduce->kind = p->kind->loop == BENCH_LOOP_MAX ? TENON_REDUCE_MAX : TENON_REDUCE_SUM;
        reduce->axis_count = p->kind->loop == BENCH_LOOP_ROW_SUM ? 1 : 0;
        reduce->axes[0] = -1;
    }
}

static bool make_plan(bench_session *session, pass *p, bench_case *bench)
{
    const bench_operand *o = p->operands.operand;
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    const tenon_tensor turned = tenon_tensor_transpose(o[X0].view, 0, 1);
    for (uint32_t i = 0; i < operation_of(p)->operand_count; i++)
        if (operand_of(p, i) != ABSENT)
            views[i] = &o[operand_of(p, i)].view;
    if (p->kind->loop == BENCH_LOOP_TRANSPOSE)
        views[0] = &turned;
    return bench_plan(session, operation_of(p), p->params.bytes, views, bench, &p->plan);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_pass_shape *s = &suite->shapes->cases[number].pass;
    pass *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->kind = &kinds[s->kind];
    p->rows = s->elements / COLS;
    bench->tenon = (bench_way){"tenon", call, false, p, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    add_operands(p, dtype);
    set_parameters(p, session->options->solver);
    if (!bench_operands_create(session, &p->operands, s->elements > 1 << 20) ||
        !make_plan(session, p, bench))
        return false;
    bench->bytes = bench_operands_bytes(&p->operands);
    bench->footprint = bench->bytes * p->operands.copies;
    p->loop = (bench_loop){p->kind->loop, p->rows, dtype, &p->operands, {X0, X1, X2}, Y};
    if (suite->shapes->peers != BENCH_PEERS_GPU)
        BENCH_ADD_PEER(session, bench, "loop", bench_loop_way(&p->loop, bench_way_at));
    return true;
}

const bench_kind bench_pass_cases = {bench_case_count, bench_case_name, bench_floating, make};
