/* Tests a compound operation: y = softmax(a · b) · c as one plan of three children in frames,
 * against a reference in double. */
#include "support.h"

#include "dispatch/operation.h"
#include "dispatch/select.h"
#include "ops/gemm/internal.h"
#include "ops/softmax/internal.h"

#include <inttypes.h>
#include <math.h>

enum { A, B, C, Y, OPERANDS };

/* Sizes: a is m by k, b is k by n, c is n by p; all are dense and of f32. */
typedef struct compound_problem {
    tn_problem head;
    int64_t m, k, n, p;
} compound_problem;

/* Offsets of the intermediates in the workspace; the children's own workspace follows. */
typedef struct compound_layout {
    uint64_t scores, weights, used;
} compound_layout;

static tenon_tensor dense(int64_t rows, int64_t columns)
{
    return (tenon_tensor){
        .dtype = TENON_DTYPE_F32, .rank = 2, .shape = {rows, columns}, .stride = {columns, 1}};
}

static compound_layout lay_out(const compound_problem *p)
{
    const uint64_t bytes = (uint64_t)(p->m * p->n) * sizeof(float);
    tn_piece piece[2];
    tn_pieces pieces = {.piece = piece};
    compound_layout l;
    l.scores = tn_pieces_add(&pieces, bytes, 0, 1);
    l.weights = tn_pieces_add(&pieces, bytes, 1, 2);
    l.used = pieces.bytes;
    return l;
}

static tenon_status product(const tenon_tensor *x, const tenon_tensor *y, const tenon_tensor *z,
                            uint64_t limit, gemm_problem *problem)
{
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    bool empty;
    TN_TRY(tn_gemm_canonicalize("compound", &params, x, y, NULL, NULL, z, problem, &empty));
    problem->head.workspace_limit = limit;
    return TENON_OK;
}

static const double ones[TN_EPILOGUE_SCALARS] = {[TN_SCALAR_ALPHA] = 1};

static const char *compound_configure(tenon_context *context, const tn_problem *problem,
                                      tn_choice *choice)
{
    const compound_problem *p = (const compound_problem *)problem;
    choice->workspace = lay_out(p).used;
    choice->time = 1;
    (void)context;
    return NULL;
}

static tenon_status record_scores(tn_recording *recording, const compound_problem *p)
{
    const compound_layout l = lay_out(p);
    const tenon_tensor a = dense(p->m, p->k), b = dense(p->k, p->n), s = dense(p->m, p->n);
    gemm_problem g;
    tn_frame frame = tn_frame_after(l.used);
    TN_TRY(product(&a, &b, &s, tn_frame_room(p->head.workspace_limit, l.used), &g));
    tn_frame_operand(&frame, GEMM_A, A, 0);
    tn_frame_operand(&frame, GEMM_B, B, 0);
    tn_frame_operand(&frame, GEMM_D, TN_WORKSPACE, (int64_t)l.scores);
    tn_frame_constants(&frame, ones, TN_EPILOGUE_SCALARS);
    return tn_gemm_record("compound", recording, &frame, &g);
}

static tenon_status record_softmax(tn_recording *recording, const compound_problem *p)
{
    const compound_layout l = lay_out(p);
    const tenon_tensor s = dense(p->m, p->n);
    const tenon_tensor *const views[TENON_ROWS_VIEWS] = {&s, &s};
    tn_rows_problem rows = {.head = {.size = sizeof rows, .forced = -1}};
    tn_frame frame = tn_frame_after(l.used);
    tn_rows_canonicalize(views, SOFTMAX_OPERANDS, SOFTMAX_Y, 1, &rows);
    tn_frame_operand(&frame, SOFTMAX_X, TN_WORKSPACE, (int64_t)l.scores);
    tn_frame_operand(&frame, SOFTMAX_Y, TN_WORKSPACE, (int64_t)l.weights);
    return tn_child_record("compound", recording, &frame, &tn_softmax_family, &rows.head);
}

static tenon_status record_result(tn_recording *recording, const compound_problem *p)
{
    const compound_layout l = lay_out(p);
    const tenon_tensor w = dense(p->m, p->n), c = dense(p->n, p->p), y = dense(p->m, p->p);
    gemm_problem g;
    tn_frame frame = tn_frame_after(l.used);
    TN_TRY(product(&w, &c, &y, tn_frame_room(p->head.workspace_limit, l.used), &g));
    tn_frame_operand(&frame, GEMM_A, TN_WORKSPACE, (int64_t)l.weights);
    tn_frame_operand(&frame, GEMM_B, C, 0);
    tn_frame_operand(&frame, GEMM_D, Y, 0);
    tn_frame_constants(&frame, ones, TN_EPILOGUE_SCALARS);
    return tn_gemm_record("compound", recording, &frame, &g);
}

static tenon_status compound_launch(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const compound_problem *p = (const compound_problem *)problem;
    (void)caller;
    (void)choice;
    TN_TRY(record_scores(recording, p));
    TN_TRY(record_softmax(recording, p));
    return record_result(recording, p);
}

static const tn_solver solver = {
    .name = "children", .configure = compound_configure, .launch = compound_launch};
static const tn_solver *const solvers[] = {&solver};

/* No self-check is needed, since the test compares the results. */
static tenon_status pass(tenon_stream *stream, const tn_problem *problem, const tn_choice *choice,
                         bool *right, char why[256])
{
    (void)stream;
    (void)problem;
    (void)choice;
    (void)why;
    *right = true;
    return TENON_OK;
}

static const tn_family family = {
    .name = "compound", .solvers = solvers, .solver_count = 1, .self_check = pass};

static tenon_status prepare(const void *params, tn_call *call, tn_problem *head, bool *empty)
{
    compound_problem *p = (compound_problem *)head;
    (void)params;
    p->m = call->operands[A].view->shape[0];
    p->k = call->operands[A].view->shape[1];
    p->n = call->operands[B].view->shape[1];
    p->p = call->operands[C].view->shape[1];
    *empty = false;
    return TENON_OK;
}

static const tn_params_head defaults = {sizeof defaults, 0, NULL};

static const tn_operation operation = {
    .name = "compound",
    .plan_name = "compound_plan",
    .family = &family,
    .operands = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "y", .role = TN_OUTPUT}},
    .operand_count = OPERANDS,
    TN_OWN_PARAMS(defaults),
    TN_PROBLEM(compound_problem),
    .prepare = prepare,
};

/*
 * Computes one row of y in double, and its error bound. A sum of k products has an error of at most
 * gamma(k + 1) times the sum of their magnitudes. Scores with an error of d change each weight by
 * at most a factor of exp(2 d). The softmax itself adds, relative to a weight, the errors of x -
 * max (its magnitude times u), of exp (4 ulp), of the sum of n terms and of the division (3 ulp).
 */
static void reference_row(const test_tensor *t, const compound_problem *p, int64_t row,
                          tn_bounded *y)
{
    const double u = 0x1p-24, gamma_k = (double)(p->k + 1) * u, gamma_n = (double)(p->n + 1) * u;
    double *w = calloc((size_t)p->n, sizeof *w), most = -INFINITY, least = INFINITY, sum = 0, d = 0;
    assert_non_null(w);
    for (int64_t j = 0; j < p->n; j++) {
        double magnitude = 0;
        for (int64_t i = 0; i < p->k; i++) {
            const double term = test_get(&t[A], row * p->k + i) * test_get(&t[B], i * p->n + j);
            w[j] += term;
            magnitude += fabs(term);
        }
        d = fmax(d, gamma_k * magnitude);
        most = fmax(most, w[j]);
        least = fmin(least, w[j]);
    }
    for (int64_t j = 0; j < p->n; j++)
        sum += w[j] = exp(w[j] - most);
    const double off =
        expm1(2 * d) + 1.01 * u * (2 * (most - least + 2 * d) + 2 * 4 + (double)p->n + 2 * 3);
    for (int64_t q = 0; q < p->p; q++) {
        tn_bounded *e = &y[q];
        double magnitude = 0;
        *e = (tn_bounded){0, 0x1p-126 * (double)p->n};
        for (int64_t j = 0; j < p->n; j++) {
            const double term = w[j] / sum * test_get(&t[C], j * p->p + q);
            e->value += term;
            magnitude += fabs(term);
        }
        e->bound += magnitude * (off + (1 + off) * gamma_n);
    }
    free(w);
}

static void try_sizes(const compound_problem *p, uint64_t workspace_limit, test_random *random,
                      char text[1024])
{
    const int64_t rows[OPERANDS] = {p->m, p->k, p->n, p->m},
                  columns[OPERANDS] = {p->k, p->n, p->p, p->p};
    const tenon_tensor *views[OPERANDS];
    tenon_memory memories[OPERANDS];
    test_tensor t[OPERANDS];
    tenon_plan *plan;
    char why[256];
    for (int i = 0; i < OPERANDS; i++) {
        const int64_t shape[] = {rows[i], columns[i]}, stride[] = {columns[i], 1};
        test_tensor_create(&t[i], TENON_DTYPE_F32, 2, shape, stride, i);
        if (i != Y)
            test_fill_reals(&t[i], random);
        test_upload(&t[i]);
        views[i] = &t[i].view;
        memories[i] = t[i].view.memory;
    }
    const uint64_t kept = test_context->memory.workspace_limit;
    test_context->memory.workspace_limit = workspace_limit;
    assert_ok(tn_operation_plan(&operation, test_context, NULL, views, &plan));
    test_context->memory.workspace_limit = kept;
    tn_bounded *expected = calloc((size_t)(p->m * p->p), sizeof *expected);
    assert_non_null(expected);
    for (int64_t row = 0; row < p->m; row++)
        reference_row(t, p, row, &expected[row * p->p]);
    assert_ok(tenon_plan_run(test_stream, plan, memories, OPERANDS, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    if (!test_result(&t[Y], expected, TEST_BOUND, why))
        fail_msg("%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 ": %s", p->m, p->k, p->n, p->p,
                 why);
    for (int i = 0; i < Y; i++)
        assert_untouched(&t[i]);
    assert_true(tenon_plan_workspace(plan) >= lay_out(p).used);
    assert_true(tenon_plan_workspace(plan) <= workspace_limit);
    (void)tenon_plan_describe(plan, text, 1024);
    tenon_plan_release(plan);
    free(expected);
    for (int i = 0; i < OPERANDS; i++)
        test_tensor_destroy(&t[i]);
}

TEST(softmax_of_a_product_times_a_matrix_is_one_plan)
{
    test_random random = test_random_for(1200);
    char text[1024];
    const compound_problem fixed[] = {{.m = 1, .k = 1, .n = 1, .p = 1},
                                      {.m = 5, .k = 64, .n = 7, .p = 33},
                                      {.m = 64, .k = 32, .n = 65, .p = 32}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        try_sizes(&fixed[i], UINT64_C(1) << 24, &random, text);
    for (int i = 0; i < 3; i++) {
        const compound_problem p = {.m = test_between(&random, 1, 20),
                                    .k = test_between(&random, 1, 90),
                                    .n = test_between(&random, 1, 50),
                                    .p = test_between(&random, 1, 40)};
        try_sizes(&p, UINT64_C(1) << 24, &random, text);
    }
}

/* A product with a long K and few results is split along K, also as a child, if there is workspace.
 * Otherwise another method is chosen. */
TEST(a_child_has_workspace_beside_its_parents)
{
    test_random random = test_random_for(1201);
    const compound_problem p = {.m = 4, .k = 20000, .n = 8, .p = 5};
    char text[1024];
    try_sizes(&p, UINT64_C(1) << 24, &random, text);
    const bool cut = strstr(text, "slices") != NULL || strstr(text, "partial") != NULL;
    try_sizes(&p, lay_out(&p).used, &random, text);
    assert_true(strstr(text, "slices") == NULL && strstr(text, "partial") == NULL);
    gemm_problem g;
    tn_candidate list[TN_MAX_SOLVERS];
    const tenon_tensor a = dense(p.m, p.k), b = dense(p.k, p.n), s = dense(p.m, p.n);
    assert_ok(product(&a, &b, &s, UINT64_C(1) << 20, &g));
    assert_true(tn_candidates(test_context, &tn_gemm_family, &g.head, list) > 0);
    assert_int_equal(cut, strstr(list[0].solver->name, "split") != NULL);
}
