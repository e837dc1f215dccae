/* Helpers shared by the solvers that use a matrix product: pointwise, im2col_gemm, col2im_gemm and
 * winograd_gemm. */
#include "ops/conv/problem/product.h"

#include "base/checked.h"
#include "base/shape.h"
#include "ops/common/gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool tn_conv_one_dimension(const int64_t shape[4], const int64_t stride[4], int64_t *joined)
{
    tn_space space = {.rank = 4, .views = 1};
    memcpy(space.shape, shape, 4 * sizeof *shape);
    memcpy(space.stride[0], stride, 4 * sizeof *stride);
    tn_space_collapse(&space);
    *joined = space.rank == 0 ? 1 : space.stride[0][0];
    return space.rank <= 1;
}

bool tn_conv_choose_tap_order(const conv_problem *p, bool prefers_last, bool may_be_last,
                              conv_tap_order *order)
{
    const int64_t *f = p->window.filter, *w = p->w;
    const int64_t first_shape[] = {p->c, f[0], f[1], f[2]}, first[] = {w[1], w[2], w[3], w[4]};
    const int64_t last_shape[] = {f[0], f[1], f[2], p->c}, last[] = {w[2], w[3], w[4], w[1]};
    int64_t first_stride, last_stride = 0;
    bool is_first = tn_conv_one_dimension(first_shape, first, &first_stride);
    bool is_last = may_be_last && tn_conv_one_dimension(last_shape, last, &last_stride);
    order->channel_last = may_be_last && (prefers_last || (is_last && !is_first));
    order->stride = order->channel_last ? last_stride : first_stride;
    return order->channel_last ? is_last : is_first;
}

bool tn_conv_find_tap_order(const conv_problem *p, conv_tap_order *order)
{
    return tn_conv_choose_tap_order(p, false, true, order);
}

/* Instructions of a work-item of conv/columns/im2col.cl, which computes one element of the
 * columns, and of conv/columns/col2im.cl, which computes one image element in a loop over its
 * taps: six and seven 64-bit divisions with the surrounding code. Counted in the code for sm_90
 * and gfx942, whose divisions have a fast path for 32-bit numbers. */
#define UNFOLD_INSTRUCTIONS 200.0
#define FOLD_INSTRUCTIONS   250.0
#define TAP_INSTRUCTIONS    20.0

tn_work tn_conv_unfold_work(uint32_t dtype, double image, double columns)
{
    return (tn_work){.launches = 1,
                     .items = columns,
                     .rate = tn_sum_rate(dtype),
                     .vector_elements = 5 * columns,
                     .instructions = columns * UNFOLD_INSTRUCTIONS,
                     .bytes = (image + columns) * (double)tenon_dtype_size((tenon_dtype)dtype)};
}

tn_work tn_conv_fold_work(uint32_t dtype, double image, double columns)
{
    return (tn_work){.launches = 1,
                     .items = image,
                     .single_elements = 2.5 * columns,
                     .instructions = image * FOLD_INSTRUCTIONS + columns * TAP_INSTRUCTIONS,
                     .bytes = image * (double)tenon_dtype_size((tenon_dtype)dtype) +
                              columns * (double)tn_acc_size(dtype)};
}

tn_work tn_conv_pack_work(uint32_t dtype, double elements)
{
    return (tn_work){.launches = elements > 0,
                     .follows = true,
                     .items = elements,
                     .rate = tn_sum_rate(dtype),
                     .vector_elements = 6 * elements,
                     .bytes = elements *
                              (double)(tenon_dtype_size((tenon_dtype)dtype) + tn_acc_size(dtype))};
}

/* Rank of views of [image, group, o, p, M, N], where N is q. */
#define PRODUCT_RANK 6

void tn_conv_cut_pixels(const conv_window *window, int64_t columns, int64_t count[3])
{
    for (int d = 2; d >= 0; d--) {
        count[d] = tn_max_i64(1, tn_min_i64(window->out[d], columns));
        columns = count[d] == window->out[d] ? columns / count[d] : 1;
    }
}

conv_block tn_conv_block_at(const conv_window *window, int64_t images, const conv_block *largest,
                            int64_t image, const int64_t index[3])
{
    conv_block block = {.image = image, .images = tn_min_i64(largest->images, images - image)};
    for (int d = 0; d < 3; d++) {
        block.first[d] = index[d] * largest->count[d];
        block.count[d] = tn_min_i64(largest->count[d], window->out[d] - block.first[d]);
    }
    return block;
}

int64_t tn_conv_block_pixels(const conv_block *block)
{
    return block->count[0] * block->count[1] * block->count[2];
}

double tn_conv_block_count(const conv_problem *p, const conv_block *largest)
{
    double blocks = (double)tn_ceil_div(p->n, largest->images);
    for (int d = 0; d < 3; d++)
        blocks *= (double)tn_ceil_div(p->window.out[d], largest->count[d]);
    return fmax(blocks, 1);
}

static tenon_tensor conv_problem_product_make_view(const conv_problem *p,
                                                   const int64_t shape[PRODUCT_RANK],
                                                   const int64_t stride[PRODUCT_RANK])
{
    tenon_tensor view = {.dtype = (tenon_dtype)p->dtype, .rank = PRODUCT_RANK};
    memcpy(view.shape, shape, PRODUCT_RANK * sizeof *shape);
    memcpy(view.stride, stride, PRODUCT_RANK * sizeof *stride);
    return view;
}

/* Returns a view of y or of a tensor with its shape. */
static tenon_tensor output_view(const conv_problem *p, const int64_t shape[PRODUCT_RANK],
                                const int64_t stride[CONV_RANK])
{
    const int64_t strides[] = {stride[0], p->k * stride[1], stride[2],
                               stride[3], stride[1],        stride[4]};
    return conv_problem_product_make_view(p, shape, strides);
}

/* Returns the first element of a block in y or in a tensor with its shape. */
static int64_t first_of(const conv_block *block, const int64_t stride[CONV_RANK])
{
    return block->image * stride[0] + block->first[0] * stride[2] + block->first[1] * stride[3] +
           block->first[2] * stride[4];
}

static tenon_gemm_params params_of(const conv_problem *p)
{
    /* Only whether each scalar is zero matters here; the values are those of the run. */
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.alpha = (p->flags & CONV_SKIP_XW) != 0 ? 0 : 1;
    params.epilogue.beta = (p->flags & CONV_HAS_C) != 0 ? 1 : 0;
    params.epilogue.activation.kind = p->activation;
    return params;
}

void tn_conv_product_after(const conv_problem *p, uint64_t used, conv_product *product)
{
    product->gemm.head.workspace_limit = tn_frame_room(p->head.workspace_limit, used);
    product->frame = tn_frame_after(used);
}

void tn_conv_product_sums(conv_product *product)
{
    static const double ones[TN_EPILOGUE_SCALARS] = {[TN_SCALAR_ALPHA] = 1, [TN_SCALAR_BETA] = 1};
    tn_frame_constants(&product->frame, ones, TN_EPILOGUE_SCALARS);
}

double tn_conv_product_time(tenon_context *context, const conv_product *product)
{
    return tn_gemm_estimate(context, &product->gemm);
}

tenon_status tn_conv_product_record(const char *caller, tn_recording *recording,
                                    conv_product *product)
{
    return tn_gemm_record(caller, recording, &product->frame, &product->gemm);
}

static void place(const conv_problem *p, const conv_block *block, tn_frame *frame)
{
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_frame_operand(frame, GEMM_A, p->operand[CONV_W], 0);
    tn_frame_operand(frame, GEMM_B, p->operand[CONV_X], 0);
    tn_frame_operand(frame, GEMM_C, p->operand[CONV_C], first_of(block, p->res) * size);
    tn_frame_operand(frame, GEMM_BIAS, p->operand[CONV_BIAS], 0);
    tn_frame_operand(frame, GEMM_D, p->operand[CONV_Y], first_of(block, p->y) * size);
    for (int term = 0; term < POST_TERMS; term++)
        tn_frame_operand(frame, GEMM_POST + term, p->operand[CONV_POST + term],
                         term == POST_RESIDUAL ? first_of(block, p->residual) * size : 0);
}

/* Sets the views of the terms after the activation; `channel` is the shape of those with an element
 * for each channel. */
static void list_post(const conv_problem *p, const int64_t channel[PRODUCT_RANK],
                      const int64_t shape[PRODUCT_RANK], tenon_tensor views[POST_TERMS],
                      const tenon_tensor **given)
{
    const int64_t strides[] = {p->post_scale, p->post_shift};
    for (int term = 0; term < POST_TERMS; term++) {
        if ((p->flags & TENON_POST_SCALE << term) == 0)
            continue;
        if (term == POST_RESIDUAL) {
            views[term] = output_view(p, shape, p->residual);
        } else {
            const int64_t stride[] = {0, p->k * strides[term], 0, 0, strides[term], 0};
            views[term] = conv_problem_product_make_view(p, channel, stride);
        }
        given[term] = &views[term];
    }
}

tenon_status tn_conv_product(const char *caller, const conv_problem *p, const conv_block *block,
                             const conv_factors *f, uint64_t used, conv_product *product)
{
    const int64_t *count = block->count, images = block->images, groups = p->groups;
    const int64_t w_shape[] = {1, groups, 1, 1, p->k, f->taps};
    const int64_t w_stride[] = {0, f->w_group, 0, 0, f->w_filter, f->w_tap};
    const int64_t col_shape[] = {images, groups, count[0], count[1], f->taps, count[2]};
    const int64_t col_stride[] = {f->image,    f->group, f->pixel[0],
                                  f->pixel[1], f->tap,   f->pixel[2]};
    const int64_t bias_shape[] = {1, groups, 1, 1, p->k, 1};
    const int64_t bias_stride[] = {0, p->k * p->bias, 0, 0, p->bias, 0};
    const int64_t y_shape[] = {images, groups, count[0], count[1], p->k, count[2]};
    const tenon_tensor w = conv_problem_product_make_view(p, w_shape, w_stride);
    const tenon_tensor col = conv_problem_product_make_view(p, col_shape, col_stride);
    const tenon_tensor bias = conv_problem_product_make_view(p, bias_shape, bias_stride);
    const tenon_tensor res = output_view(p, y_shape, p->res), y = output_view(p, y_shape, p->y);
    const tenon_gemm_params params = params_of(p);
    const tenon_tensor *views[GEMM_MATRICES] = {&w, &col,
                                                (p->flags & CONV_HAS_C) != 0 ? &res : NULL,
                                                (p->flags & CONV_HAS_BIAS) != 0 ? &bias : NULL, &y};
    tenon_tensor post[POST_TERMS];
    bool empty = false;
    list_post(p, bias_shape, y_shape, post, views + GEMM_POST);
    TN_TRY(tn_gemm_canonicalize_views(caller, &params, views, &product->gemm, &empty));
    product->gemm.flags |= p->flags & TENON_POST_IN_PLACE;
    tn_conv_product_after(p, used, product);
    place(p, block, &product->frame);
    return TENON_OK;
}

const char *tn_conv_product_configure(tenon_context *context, const conv_problem *p,
                                      conv_product_of of, tn_choice *choice)
{
    conv_product *product = TN_LAYOUT(conv_product, choice);
    if (of("configure", p, product) != TENON_OK)
        return "GEMM does not support the product";
    choice->time = tn_conv_product_time(context, product);
    tn_conv_product_options(p, choice->options);
    return NULL;
}

void tn_conv_product_options(const conv_problem *p, char text[TN_OPTIONS_SIZE])
{
    snprintf(text, TN_OPTIONS_SIZE, "type %s", tenon_dtype_string((tenon_dtype)p->dtype));
}

tenon_status tn_conv_product_launch(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    conv_product product = *TN_LAYOUT(const conv_product, choice);
    (void)problem;
    return tn_conv_product_record(caller, recording, &product);
}
