/* gemm_post/two_steps: a product by the solvers of gemm, and an element-wise chain for the terms
 * after the activation. */
#include "ops/gemm/internal.h"

#include <string.h>

gemm_problem tn_gemm_without_post(const gemm_problem *p)
{
    gemm_problem product = *p;
    tn_problem_begin(&product.head, sizeof product.head);
    product.head.size = sizeof product;
    product.head.workspace_limit = p->head.workspace_limit;
    product.flags &= ~(uint32_t)(TENON_POST_ANY | TENON_POST_IN_PLACE);
    for (int x = GEMM_POST; x < GEMM_MATRICES; x++)
        product.matrix[x] = (gemm_matrix){.operand = p->matrix[x].operand};
    return product;
}

/* Writes the strides of a matrix along the batch, the rows and the columns. */
static void list_strides(const gemm_problem *p, int matrix, int64_t stride[TENON_MAX_RANK])
{
    const gemm_matrix *x = &p->matrix[matrix];
    memcpy(stride, x->batch, p->batch_rank * sizeof *stride);
    stride[p->batch_rank] = x->row;
    stride[p->batch_rank + 1] = x->col;
}

tn_post tn_gemm_post_of(const gemm_problem *p)
{
    tn_post post = {.output = {.dtype = (tenon_dtype)p->dtype, .rank = (uint32_t)p->batch_rank + 2},
                    .output_operand = (uint16_t)p->matrix[GEMM_D].operand,
                    .is_in_place = (p->flags & TENON_POST_IN_PLACE) != 0};
    int64_t stride[TENON_MAX_RANK];
    memcpy(post.output.shape, p->batch, p->batch_rank * sizeof *p->batch);
    post.output.shape[p->batch_rank] = p->m;
    post.output.shape[p->batch_rank + 1] = p->n;
    list_strides(p, GEMM_D, post.output.stride);
    for (int term = 0; term < POST_TERMS; term++) {
        list_strides(p, GEMM_POST + term, stride);
        if ((p->flags & TENON_POST_SCALE << term) != 0)
            tn_post_set(&post, term, stride, (uint16_t)p->matrix[GEMM_POST + term].operand);
    }
    return post;
}

void tn_gemm_store_densely(gemm_problem *p)
{
    gemm_matrix *d = &p->matrix[GEMM_D];
    int64_t stride = p->m * p->n;
    d->col = p->n == 1 ? 0 : 1;
    d->row = p->m == 1 ? 0 : p->n;
    for (uint64_t i = p->batch_rank; i-- > 0;) {
        d->batch[i] = stride;
        stride *= p->batch[i];
    }
}

/* Makes the steps; `product` is the child's problem, which they point to. */
static tn_two_steps steps_of(const tn_problem *problem, gemm_problem *product)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    *product = tn_gemm_without_post(p);
    if ((p->flags & TENON_POST_IN_PLACE) != 0)
        tn_gemm_store_densely(product);
    return (tn_two_steps){&tn_gemm_family, &product->head, "gemm/plain", tn_gemm_post_of(p)};
}

static const char *gemm_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    gemm_problem product;
    const tn_two_steps steps = steps_of(problem, &product);
    return tn_two_steps_configure(context, problem, &steps, choice);
}

static tenon_status gemm_two_steps_launch(const char *caller, tn_recording *recording,
                                          const tn_problem *problem, const tn_choice *choice)
{
    gemm_problem product;
    const tn_two_steps steps = steps_of(problem, &product);
    (void)choice;
    return tn_two_steps_launch(caller, recording, problem, &steps);
}

const tn_solver tn_gemm_two_steps = {
    .name = "two_steps",
    .serves = "everything: a product by a solver of gemm, and an element-wise pass",
    .needs = "the workspace of that solver, and a copy of d if the residual is d",
    .configure = gemm_two_steps_configure,
    .launch = gemm_two_steps_launch};
