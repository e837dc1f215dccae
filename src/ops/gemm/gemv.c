/* gemm/gemv_dot, gemv_axpy and gemv_split: a matrix times a vector. (In the canonical problem
 * every vector is a column.) */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"

/* Rows per work-group. Dot products need enough rows to share a block of the vector. Kernels that
 * add scaled columns need a long strip of rows, since a short one makes short contiguous reads of
 * each column. */
#define DOT_ROWS        64
#define AXPY_LEAST_ROWS 256
/* Slices of K, each with its own sums. Their lengths are multiples of the columns that the kernel
 * adds at once. */
#define SPLITS      12
#define SPLIT_CHUNK 4
#define SPLIT_LEAST 256

/* Sets the options of the solvers that serve a matrix of this layout, or returns why they do not
 * serve. */
static const char *gemm_gemv_configure(tenon_context *context, const gemm_problem *p,
                                       gemm_layout layout, tn_choice *choice)
{
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    if (p->n != 1)
        return "neither factor is a vector";
    if (p->batch_invariant)
        return "the call is batch-invariant: gemm/cpu_packed is used";
    if (tn_gemm_layout(p, GEMM_A) != layout)
        return layout == GEMM_UNIT_COL ? "the matrix is not contiguous along K"
                                       : "the matrix is not contiguous along M";
    tn_choice_options(context, choice, GEMM_OPTIONS_FORMAT " -DTENON_VW=%d", GEMM_OPTIONS_VALUES(p),
                      (int)tn_gemm_lanes(context, p->dtype));
    return NULL;
}

/* Returns the work of reading the matrix once, with `rows` rows per work-group. */
static tn_work reading(const gemm_problem *p, int64_t rows, double reach)
{
    const double batch = (double)tn_gemm_batch_count(p);
    return (tn_work){.launches = 1,
                     .blocks = true,
                     .groups = (double)tn_ceil_div(p->m, rows) * batch,
                     .bytes = (double)p->m * (double)p->k * batch *
                              (double)tenon_dtype_size((tenon_dtype)p->dtype),
                     .reach = reach};
}

static const char *configure_dot(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const tn_work work = reading(p, DOT_ROWS, 1);
    tn_choice_add(context, choice, &work);
    return gemm_gemv_configure(context, p, GEMM_UNIT_COL, choice);
}

static const char *configure_axpy(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    /* Strips of a column are short, and so are the contiguous reads. */
    const tn_work work = reading(p, AXPY_LEAST_ROWS, 0.83);
    tn_choice_add(context, choice, &work);
    return gemm_gemv_configure(context, p, GEMM_UNIT_ROW, choice);
}

static const char *configure_split(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const char *why = gemm_gemv_configure(context, p, GEMM_UNIT_ROW, choice);
    if (why != NULL)
        return why;
    if (p->batch_rank > 2)
        return "the batch has more than two dimensions";
    if (p->k < SPLIT_LEAST)
        return "k is too short to split";
    const int64_t sums = p->m * SPLITS * tn_gemm_batch_count(p);
    choice->workspace = (uint64_t)sums * tn_acc_size(p->dtype);
    const tn_work products = reading(p, 1, 1);
    const tn_work adding = {.launches = 1,
                            .follows = true,
                            .rate = tn_sum_rate(p->dtype),
                            .vector_elements = 6 * (double)sums};
    tn_choice_add(context, choice, &products);
    tn_choice_add(context, choice, &adding);
    return NULL;
}

static tenon_status record_kernel(const char *caller, tn_recording *recording,
                                  const gemm_problem *p, const tn_choice *choice,
                                  const char *kernel, int64_t splits, int64_t rows)
{
    gemm_arguments arguments;
    tn_gemm_arguments(p, &arguments);
    arguments.args.tile_rows = (tenon_i32)tn_min_i64(rows, INT32_MAX);
    arguments.args.k_splits = SPLITS;
    arguments.args.k_chunk = tn_round_up(tn_ceil_div(p->k, SPLITS), SPLIT_CHUNK);
    tn_launch launch = {
        .source = "gemm/gemv",
        .options = choice->options,
        .kernel = kernel,
        .global = {(size_t)splits, (size_t)tn_ceil_div(p->m, arguments.args.tile_rows)},
        .local = {1, 1}};
    return tn_gemm_record_launch(caller, recording, p, &arguments, &launch);
}

static int64_t axpy_rows(tenon_context *context, const gemm_problem *p)
{
    return tn_max_i64(AXPY_LEAST_ROWS, tn_ceil_div(p->m, context->device.info.compute_units));
}

static tenon_status launch_dot(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    return record_kernel(caller, recording, (const gemm_problem *)problem, choice, "gemv_dot", 1,
                         DOT_ROWS);
}

static tenon_status launch_axpy(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    return record_kernel(caller, recording, p, choice, "gemv_axpy", 1,
                         axpy_rows(recording->context, p));
}

static tenon_status launch_split(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    gemm_problem partial = *(const gemm_problem *)problem, reduce = partial;
    /* The workspace is the output of the first launch and the matrix of the second. */
    partial.matrix[GEMM_D].operand = reduce.matrix[GEMM_A].operand = TN_WORKSPACE;
    partial.sums = 1U << GEMM_D;
    reduce.sums = 1U << GEMM_A;
    TN_TRY(
        record_kernel(caller, recording, &partial, choice, "gemv_axpy_partial", SPLITS, partial.m));
    return record_kernel(caller, recording, &reduce, choice, "gemv_reduce", 1,
                         axpy_rows(recording->context, &reduce));
}

const tn_solver tn_gemm_gemv_dot = {.name = "gemv_dot",
                                    .serves = "a vector and a matrix contiguous along K, on CPUs",
                                    .awkward = "m=701 n=1",
                                    .configure = configure_dot,
                                    .launch = launch_dot};

const tn_solver tn_gemm_gemv_axpy = {.name = "gemv_axpy",
                                     .serves = "a vector and a matrix contiguous along M, on CPUs",
                                     .awkward = "m=701 n=1",
                                     .configure = configure_axpy,
                                     .launch = launch_axpy};

const tn_solver tn_gemm_gemv_split = {.name = "gemv_split",
                                      .serves = "a vector and a matrix contiguous along M, on CPUs",
                                      .needs = "workspace for partial sums",
                                      .awkward = "m=701 n=1",
                                      .configure = configure_split,
                                      .launch = launch_split};
