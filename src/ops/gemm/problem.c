/* Properties of a problem that solvers query, and the completion of GEMM launches. */
#include "ops/gemm/internal.h"

#include <stddef.h>
#include <string.h>

gemm_layout tn_gemm_layout(const gemm_problem *p, int matrix)
{
    const gemm_matrix *x = &p->matrix[matrix];
    int64_t rows = matrix == GEMM_B ? p->k : p->m, cols = matrix == GEMM_A ? p->k : p->n;
    if (x->col == 1 || cols == 1)
        return GEMM_UNIT_COL;
    return x->row == 1 || rows == 1 ? GEMM_UNIT_ROW : GEMM_STRIDED;
}

int64_t tn_gemm_batch_count(const gemm_problem *p)
{
    int64_t count = 1;
    for (uint64_t i = 0; i < p->batch_rank; i++)
        count *= p->batch[i];
    return count;
}

uint64_t tn_gemm_paths(const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    return tn_epilogue_paths(p->flags, p->activation) | tn_paths_of_flags(p->flags, GEMM_TF32);
}

double tn_gemm_work(const gemm_problem *p)
{
    return (double)p->m * (double)p->n * (double)p->k * (double)tn_gemm_batch_count(p);
}

bool tn_gemm_rounds_sums(const gemm_problem *p)
{
    return (p->flags & GEMM_PARTIAL) != 0 &&
           tn_acc_size(p->dtype) != tenon_dtype_size((tenon_dtype)p->dtype);
}

int64_t tn_gemm_one(uint32_t dtype)
{
    union {
        double f64;
        float f32;
        int64_t i64;
    } bits = {.i64 = 0};
    if (dtype == TENON_DTYPE_F64)
        bits.f64 = 1;
    else
        bits.f32 = 1;
    return bits.i64;
}

static void add_patch(gemm_arguments *arguments, tn_patch_kind kind, uint64_t source, size_t at,
                      size_t unit)
{
    arguments->patches[arguments->patch_count++] =
        (tn_patch){(uint8_t)kind, (uint8_t)source, (uint16_t)at, (uint32_t)unit};
}

#define POST_AT(member) (offsetof(gemm_arguments, post) + offsetof(gemm_post_args, member))
static const size_t offset_at[GEMM_MATRICES] = {
    offsetof(gemm_args, a_offset),    offsetof(gemm_args, b_offset), offsetof(gemm_args, c_offset),
    offsetof(gemm_args, bias_offset), offsetof(gemm_args, d_offset), POST_AT(post_scale_offset),
    POST_AT(post_shift_offset),       POST_AT(residual_offset),
};

static const size_t scalar_at[TN_EPILOGUE_SCALARS] = {
    [TN_SCALAR_ALPHA] = offsetof(gemm_args, alpha),
    [TN_SCALAR_BETA] = offsetof(gemm_args, beta),
    [TN_SCALAR_ACT_ALPHA] = offsetof(gemm_args, act_alpha),
    [TN_SCALAR_ACT_BETA] = offsetof(gemm_args, act_beta),
};

/* Returns true if the kernel reads a matrix. If not, the matrix may be absent; the output is passed
 * in its place to keep every pointer valid. */
static bool is_read(const gemm_problem *p, int matrix)
{
    switch (matrix) {
    case GEMM_C:
        return (p->flags & GEMM_HAS_C) != 0;
    case GEMM_BIAS:
        return (p->flags & GEMM_HAS_BIAS) != 0;
    case GEMM_D:
        return true;
    case GEMM_POST + POST_SCALE:
    case GEMM_POST + POST_SHIFT:
    case GEMM_POST + POST_RESIDUAL:
        return (p->flags & TENON_POST_SCALE << (matrix - GEMM_POST)) != 0;
    default:
        return p->k > 0;
    }
}

/* Returns the number of matrices that a launch takes. */
static int matrix_count(const gemm_problem *p)
{
    return (p->flags & TENON_POST_ANY) != 0 ? GEMM_MATRICES : GEMM_OPERANDS;
}

size_t tn_gemm_arguments_size(const gemm_problem *p)
{
    return sizeof(gemm_args) + ((p->flags & TENON_POST_ANY) != 0 ? sizeof(gemm_post_args) : 0);
}

/* Sets `strides` to the strides of the innermost two batch dimensions, {outer, inner}. */
static void innermost(const gemm_problem *p, const gemm_matrix *matrix, tenon_i64 strides[2])
{
    uint64_t rank = p->batch_rank;
    strides[0] = rank >= 2 ? matrix->batch[rank - 2] : 0;
    strides[1] = rank >= 1 ? matrix->batch[rank - 1] : 0;
}

/* Fills in the strides of the terms after the activation. */
static void post_arguments(const gemm_problem *p, gemm_post_args *args)
{
    const gemm_matrix *scale = &p->matrix[GEMM_POST + POST_SCALE];
    const gemm_matrix *shift = &p->matrix[GEMM_POST + POST_SHIFT];
    const gemm_matrix *residual = &p->matrix[GEMM_POST + POST_RESIDUAL];
    *args = (gemm_post_args){.post_scale_row = scale->row,
                             .post_scale_col = scale->col,
                             .post_shift_row = shift->row,
                             .post_shift_col = shift->col,
                             .residual_row = residual->row,
                             .residual_col = residual->col};
    innermost(p, scale, args->post_scale_batch);
    innermost(p, shift, args->post_shift_batch);
    innermost(p, residual, args->residual_batch);
}

void tn_gemm_arguments(const gemm_problem *p, gemm_arguments *arguments)
{
    const gemm_matrix *a = &p->matrix[GEMM_A], *b = &p->matrix[GEMM_B], *c = &p->matrix[GEMM_C];
    const gemm_matrix *bias = &p->matrix[GEMM_BIAS], *d = &p->matrix[GEMM_D];
    memset(arguments, 0, sizeof *arguments);
    gemm_args args = {.m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .k_last = p->k_last,
                      .alpha = tn_gemm_one(p->dtype),
                      .a_row = a->row,
                      .a_col = a->col,
                      .b_row = b->row,
                      .b_col = b->col,
                      .c_row = c->row,
                      .c_col = c->col,
                      .bias_row = bias->row,
                      .bias_col = bias->col,
                      .d_row = d->row,
                      .d_col = d->col,
                      .batch_inner = p->batch_rank >= 1 ? p->batch[p->batch_rank - 1] : 1,
                      .activation = (tenon_i32)p->activation,
                      .flags = (tenon_i32)p->flags};
    innermost(p, a, args.a_batch);
    innermost(p, b, args.b_batch);
    innermost(p, c, args.c_batch);
    innermost(p, bias, args.bias_batch);
    innermost(p, d, args.d_batch);
    arguments->args = args;
    post_arguments(p, &arguments->post);
    for (int x = 0; x < matrix_count(p); x++)
        if (is_read(p, x))
            add_patch(arguments, TN_PATCH_OFFSET, p->matrix[x].operand, offset_at[x],
                      (p->sums >> x & 1) != 0 ? tn_acc_size(p->dtype)
                                              : tenon_dtype_size((tenon_dtype)p->dtype));
    if ((p->flags & GEMM_PARTIAL) != 0)
        return; /* the kernel that adds up the sums applies the scalars */
    for (uint32_t s = 0; s < TN_EPILOGUE_SCALARS; s++)
        if (s != TN_SCALAR_ALPHA || (p->flags & GEMM_UNSCALED) == 0)
            add_patch(arguments, tn_scalar_patch((tenon_dtype)p->dtype), s, scalar_at[s], 1);
}

/* Sets the offset of each matrix for entry `index` of the outer batch dimensions. */
static void set_offsets(const gemm_problem *p, const int64_t *index, uint64_t outer_rank,
                        gemm_args *args)
{
    for (int x = 0; x < matrix_count(p); x++) {
        int64_t offset = 0;
        for (uint64_t i = 0; i < outer_rank; i++)
            offset += index[i] * p->matrix[x].batch[i];
        memcpy((char *)args + offset_at[x], &offset, sizeof offset);
    }
}

void tn_gemm_launch_operands(const gemm_problem *p, tn_launch *launch)
{
    launch->operand_count = (uint32_t)matrix_count(p);
    for (int x = 0; x < matrix_count(p); x++)
        launch->operands[x] = (uint8_t)p->matrix[is_read(p, x) ? x : GEMM_D].operand;
}

tenon_status tn_gemm_record_batches(const char *caller, tn_recording *recording,
                                    const gemm_problem *p, gemm_args *args, tn_launch *launch)
{
    uint64_t rank = p->batch_rank, outer_rank = rank > 2 ? rank - 2 : 0;
    int64_t index[GEMM_MAX_BATCH] = {0}, inner = 1;
    for (uint64_t i = outer_rank; i < rank; i++)
        inner *= p->batch[i];
    launch->dimensions = 3;
    launch->global[2] = (size_t)inner;
    if (launch->local[0] != 0)
        launch->local[2] = 1;
    do {
        set_offsets(p, index, outer_rank, args);
        TN_TRY(tn_record(caller, recording, launch));
    } while (tn_next_index(index, p->batch, (uint32_t)outer_rank));
    return TENON_OK;
}

tenon_status tn_gemm_record_launch(const char *caller, tn_recording *recording,
                                   const gemm_problem *p, gemm_arguments *arguments,
                                   tn_launch *launch)
{
    launch->args = &arguments->args;
    launch->args_size = tn_gemm_arguments_size(p);
    launch->patches = arguments->patches;
    launch->patch_count = arguments->patch_count;
    tn_gemm_launch_operands(p, launch);
    return tn_gemm_record_batches(caller, recording, p, &arguments->args, launch);
}
