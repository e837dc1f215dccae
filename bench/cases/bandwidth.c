/* Operations that memory limits, on arrays of rows × 1024: within the nearer caches, within the
 * last one, and beyond it. */
#include "judge.h"
#include "peers/loop.h"
#include "peers/peers.h"

#include "ops/activation/internal.h"
#include "ops/elementwise/internal.h"
#include "ops/norm/internal.h"
#include "ops/reduce/internal.h"
#include "ops/softmax/internal.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

#define COLS       BENCH_LOOP_COLS
#define MOST_VIEWS 8
#define ABSENT     (-1)

/* The operands of a case: up to three inputs and the result. */
enum { X0, X1, X2, Y, CASE_OPERANDS };

enum { ON_CPU, ON_GPU }; /* the suites' selections */

typedef enum operation { ACTIVATION, ADD, CHAIN, COPY, REDUCE, SOFTMAX, NORM } operation;

typedef struct kind {
    const char *name;
    operation operation;
    bench_loop_kind loop;
    int inputs;
    bool vectors;  /* inputs but the first are of COLS elements */
    bool enormous; /* comes in the largest size too */
} kind;

static const kind kinds[] = {
    {"copy", COPY, BENCH_LOOP_COPY, 1, false, true},
    {"scale", CHAIN, BENCH_LOOP_SCALE, 1, false, false},
    {"relu", ACTIVATION, BENCH_LOOP_RELU, 1, false, true},
    {"add", ADD, BENCH_LOOP_ADD, 2, false, true},
    {"saxpy", CHAIN, BENCH_LOOP_SAXPY, 2, false, false},
    {"bias gelu", CHAIN, BENCH_LOOP_BIAS_GELU, 2, true, false},
    {"transpose", COPY, BENCH_LOOP_TRANSPOSE, 1, false, false},
    {"sum", REDUCE, BENCH_LOOP_SUM, 1, false, true},
    {"max", REDUCE, BENCH_LOOP_MAX, 1, false, false},
    {"row sums", REDUCE, BENCH_LOOP_ROW_SUM, 1, false, false},
    {"softmax", SOFTMAX, BENCH_LOOP_SOFTMAX, 1, false, false},
    {"layer norm", NORM, BENCH_LOOP_LAYER_NORM, 3, true, false},
};
static const int64_t sizes[] = {1 << 16, 1 << 20, 1 << 24, 1 << 26};

#define KINDS (sizeof kinds / sizeof *kinds)
#define SIZES (sizeof sizes / sizeof *sizes)

typedef struct pass {
    const kind *kind;
    int64_t rows;
    bench_operands operands;
    tenon_plan *plan;
    int order[MOST_VIEWS]; /* the case's operand for each of the plan's, or ABSENT */
    tenon_activation_params activation;
    tenon_elementwise_chain_params chain;
    tenon_reduce_params reduce;
    bench_loop loop;
} pass;

/* Which sizes of a kind there are: of CPUs the largest has fewer kinds, of GPUs all are beyond the
 * nearer caches. */
static bool comes(const bench_suite *suite, size_t k, size_t s)
{
    return suite->selection == ON_GPU ? sizes[s] >= 1 << 20 : s + 1 < SIZES || kinds[k].enormous;
}

/* The number of a kind and size. */
static const kind *kind_of(const bench_suite *suite, uint32_t number, int64_t *size)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < SIZES; s++)
            if (comes(suite, k, s) && number-- == 0) {
                *size = sizes[s];
                return &kinds[k];
            }
    return NULL;
}

static uint32_t count(const bench_suite *suite)
{
    uint32_t n = 0;
    int64_t size;
    while (kind_of(suite, n, &size) != NULL)
        n++;
    return n;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    int64_t size = 0;
    const kind *k = kind_of(suite, number, &size);
    if (size >= 1 << 20)
        snprintf(name, BENCH_NAME_SIZE, "%s %d Mi", k->name, (int)(size >> 20));
    else
        snprintf(name, BENCH_NAME_SIZE, "%s %d Ki", k->name, (int)(size >> 10));
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const pass *p = data;
    const tenon_memory *m = p->operands.memory[turn % p->operands.copies];
    tenon_memory memories[MOST_VIEWS] = {{0}};
    for (int i = 0; i < MOST_VIEWS; i++)
        if (p->order[i] != ABSENT)
            memories[i] = m[p->order[i]];
    return BENCH_WELL(
        tenon_plan_run(stream, p->plan, memories, tenon_plan_operands(p->plan), NULL));
}

/* The views of some rows of the result, and of what they are made of: a sum of all has one row. */
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

static bool reference(const pass *p, const tenon_tensor *v, tn_bounded *expected)
{
    const tenon_tensor *const unary[] = {&v[X0], &v[Y]};
    const tenon_tensor *const binary[] = {&v[X0], &v[X1], &v[Y]};
    const tenon_tensor *const chained[] = {&v[X0], p->kind->inputs > 1 ? &v[X1] : NULL, NULL, NULL,
                                           &v[Y]};
    const tenon_elementwise_params add = tenon_elementwise_params_default();
    const tenon_softmax_params softmax = tenon_softmax_params_default();
    const tenon_norm_params norm = tenon_norm_params_default();
    switch (p->kind->operation) {
    case ACTIVATION:
        return tn_activation_forward_reference(&p->activation, unary, expected);
    case ADD:
        return tn_elementwise_reference(&add, binary, expected);
    case CHAIN:
        return tn_elementwise_chain_reference(&p->chain, chained, expected);
    case COPY:
        return tn_copy_reference(NULL, unary, expected);
    case REDUCE:
        return tn_reduce_reference(&p->reduce, (const tenon_tensor *const[]){&v[X0], &v[Y]},
                                   expected);
    case SOFTMAX:
        return tn_softmax_forward_reference(&softmax, (const tenon_tensor *const[]){&v[X0], &v[Y]},
                                            expected);
    case NORM:
        return tn_operation_norm.reference(
            &norm,
            (const tenon_tensor *const[]){&v[X0], &v[X1], &v[X2], &v[Y], NULL, NULL, NULL, NULL},
            expected);
    }
    return false;
}

/* The first rows of the result and the last; all of it where it is one number. */
static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const pass *p = data;
    const tenon_tensor *y = &p->operands.operand[Y].view;
    const int64_t all = y->rank > 0 ? y->shape[0] : 1, width = y->rank > 1 ? y->shape[1] : 1,
                  rows = all < 16 ? all : 16, last = all - rows;
    unsigned char *got = bench_output(stream, &p->operands, Y);
    tn_bounded *expected = malloc((size_t)(rows * width) * sizeof *expected);
    bool well = got != NULL && expected != NULL;
    for (int64_t first = 0; well && first <= last; first += last > 0 ? last : 1) {
        tenon_tensor views[CASE_OPERANDS] = {{{0}}};
        views_of(p, first, rows, views);
        well = reference(p, views, expected) &&
               bench_judge(y->dtype, got, first * width, 1, rows * width, expected,
                           error_over_bound, why);
    }
    free(got);
    free(expected);
    return well;
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

static void set_parameters(pass *p, const char *solver)
{
    p->activation = tenon_activation_params_default();
    p->activation.activation.kind = TENON_ACTIVATION_RELU;
    p->activation.solver = solver;
    p->reduce = tenon_reduce_params_default();
    p->reduce.kind = p->kind->loop == BENCH_LOOP_MAX ? TENON_REDUCE_MAX : TENON_REDUCE_SUM;
    p->reduce.axis_count = p->kind->loop == BENCH_LOOP_ROW_SUM ? 1 : 0;
    p->reduce.axes[0] = -1;
    p->reduce.solver = solver;
    p->chain = tenon_elementwise_chain_params_default();
    p->chain.solver = solver;
    p->chain.step_count = p->kind->loop == BENCH_LOOP_BIAS_GELU ? 2 : 1;
    switch (p->kind->loop) {
    case BENCH_LOOP_SCALE:
        p->chain.steps[0] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = 1.5};
        break;
    case BENCH_LOOP_SAXPY:
        p->chain.steps[0] =
            (tenon_chain_step){.op = TENON_CHAIN_FMA, .addend = TENON_CHAIN_X1, .alpha = 2.5};
        break;
    default:
        p->chain.steps[0] = (tenon_chain_step){.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1};
        p->chain.steps[1] = (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE,
                                               .activation = TENON_ACTIVATION_GELU_TANH};
        break;
    }
}

static bool make_plan(bench_session *session, pass *p, bench_case *bench)
{
    const bench_operand *o = p->operands.operand;
    const tenon_tensor *x0 = &o[X0].view, *x1 = p->kind->inputs > 1 ? &o[X1].view : NULL,
                       *y = &o[Y].view;
    const tenon_tensor turned = tenon_tensor_transpose(*x0, 0, 1);
    const tenon_tensor *const pair[] = {x0, y}, *const two[] = {x0, x1, y},
                              *const copied[] = {p->kind->loop == BENCH_LOOP_TRANSPOSE ? &turned
                                                                                       : x0,
                                                 y},
                              *const chained[] = {x0, x1, NULL, NULL, y},
                              *const normed[] = {x0, x1, &o[X2].view, y, NULL, NULL, NULL, NULL};
    tenon_elementwise_params add = tenon_elementwise_params_default();
    tenon_copy_params copy = tenon_copy_params_default();
    tenon_softmax_params softmax = tenon_softmax_params_default();
    tenon_norm_params norm = tenon_norm_params_default();
    add.solver = copy.solver = softmax.solver = norm.solver = session->options->solver;
    const struct {
        const tn_operation *operation;
        const void *params;
        const tenon_tensor *const *views;
    } of[] = {
        [ACTIVATION] = {&tn_operation_activation, &p->activation, pair},
        [ADD] = {&tn_operation_elementwise, &add, two},
        [CHAIN] = {&tn_operation_elementwise_chain, &p->chain, chained},
        [COPY] = {&tn_operation_copy, &copy, copied},
        [REDUCE] = {&tn_operation_reduce, &p->reduce, pair},
        [SOFTMAX] = {&tn_operation_softmax, &softmax, pair},
        [NORM] = {&tn_operation_norm, &norm, normed},
    };
    const int which = p->kind->operation;
    return bench_plan(session, of[which].operation, of[which].params, of[which].views, bench,
                      &p->plan);
}

/* Which of the case's operands each of the plan's is. */
static void set_order(pass *p)
{
    static const int orders[][MOST_VIEWS] = {
        [ACTIVATION] = {X0, Y, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT},
        [ADD] = {X0, X1, Y, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT},
        [CHAIN] = {X0, X1, ABSENT, ABSENT, Y, ABSENT, ABSENT, ABSENT},
        [COPY] = {X0, Y, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT},
        [REDUCE] = {X0, Y, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT},
        [SOFTMAX] = {X0, Y, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT},
        [NORM] = {X0, X1, X2, Y, ABSENT, ABSENT, ABSENT, ABSENT},
    };
    for (int i = 0; i < MOST_VIEWS; i++) {
        const int operand = orders[p->kind->operation][i];
        p->order[i] = operand == Y || operand < p->kind->inputs ? operand : ABSENT;
    }
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    pass *p = calloc(1, sizeof *p);
    int64_t size = 0;
    if (p == NULL)
        return false;
    p->kind = kind_of(suite, number, &size);
    p->rows = size / COLS;
    bench->tenon = (bench_way){"tenon", call, false, p, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    add_operands(p, dtype);
    set_parameters(p, session->options->solver);
    set_order(p);
    if (!bench_operands_create(session, &p->operands, size > 1 << 20) ||
        !make_plan(session, p, bench))
        return false;
    bench->bytes = bench_operands_bytes(&p->operands);
    p->loop = (bench_loop){p->kind->loop, p->rows, dtype, &p->operands, {X0, X1, X2}, Y};
    if (suite->selection != ON_GPU)
        BENCH_ADD_PEER(session, bench, "loop", bench_loop_way(&p->loop, bench_way_at));
    return true;
}

const bench_suite bench_suite_bandwidth_cpu = {"bandwidth-cpu",
                                               "what memory limits, on rows of 1024",
                                               count,
                                               name_of,
                                               bench_floating,
                                               make,
                                               0.5,
                                               ON_CPU};
const bench_suite bench_suite_bandwidth_gpu = {"bandwidth-gpu",
                                               "what memory limits, on rows of 1024",
                                               count,
                                               name_of,
                                               bench_floating,
                                               make,
                                               0.3,
                                               ON_GPU};
