/* Helpers shared by all implicit GEMM solvers: conv/implicit_packed, conv/cpu_direct, and on GPUs
 * implicit_tiled and implicit_matrix in all directions. */
#include "ops/conv/implicit/implicit.h"

#include "base/checked.h"
#include "base/shape.h"

#include <string.h>

/* Limit of positions, which kernels count in 31 bits; one value marks positions outside the image.
 */
#define MOST_POSITIONS (INT64_C(1) << 30)

bool tn_conv_pixels_join(const conv_problem *p, int64_t *y_stride, int64_t *res_stride)
{
    tn_space space = {.rank = 3, .views = 2};
    memcpy(space.shape, p->window.out, sizeof p->window.out);
    memcpy(space.stride[0], p->y + 2, 3 * sizeof *p->y);
    memcpy(space.stride[1], p->res + 2, 3 * sizeof *p->res);
    tn_space_collapse(&space);
    *y_stride = space.rank == 0 ? 0 : space.stride[0][0];
    *res_stride = space.rank == 0 ? 0 : space.stride[1][0];
    return space.rank <= 1;
}

bool tn_conv_positions_fit(const conv_window *v)
{
    for (int d = 0; d < 3; d++) {
        int64_t reach = (v->filter[d] - 1) * v->dilation[d];
        int64_t last = (v->out[d] - 1) * v->stride[d] + reach;
        if (v->size[d] >= MOST_POSITIONS || -v->start[d] >= MOST_POSITIONS ||
            last >= MOST_POSITIONS)
            return false;
    }
    return true;
}

const char *tn_conv_implicit_refuses(const conv_problem *p)
{
    int64_t y_stride, res_stride;
    conv_tap_order order;
    if (p->c == 0)
        return "there are no channels";
    if (tn_window_empty(&p->window))
        return "the image is empty";
    if (!tn_conv_find_tap_order(p, &order))
        return "the taps of a filter do not have a single stride";
    if (!tn_conv_pixels_join(p, &y_stride, &res_stride))
        return "the pixels of y, or of c, do not have a single stride";
    return tn_conv_positions_fit(&p->window) ? NULL : "the image is too large";
}

gemm_problem tn_conv_implicit_product(const conv_problem *p)
{
    gemm_problem g = {.head = p->head,
                      .dtype = p->dtype,
                      .activation = p->activation,
                      .flags = ((p->flags & CONV_HAS_C) != 0 ? GEMM_HAS_C : 0) |
                               ((p->flags & CONV_HAS_BIAS) != 0 ? GEMM_HAS_BIAS : 0) |
                               ((p->flags & CONV_SKIP_XW) != 0 ? GEMM_SKIP_AB : 0),
                      .m = p->k,
                      .n = tn_window_pixels(&p->window),
                      .k = p->c * tn_window_taps(&p->window),
                      .batch_rank = 2,
                      .batch = {p->n, p->groups}};
    gemm_matrix *matrix = g.matrix;
    int64_t y_stride, res_stride;
    conv_tap_order order;
    tn_conv_find_tap_order(p, &order);
    tn_conv_pixels_join(p, &y_stride, &res_stride);
    matrix[GEMM_A] = (gemm_matrix){.row = p->w[0],
                                   .col = order.stride,
                                   .batch = {0, p->k * p->w[0]},
                                   .operand = p->operand[CONV_W]};
    matrix[GEMM_B] =
        (gemm_matrix){.batch = {p->x[0], p->c * p->x[1]}, .operand = p->operand[CONV_X]};
    matrix[GEMM_C] = (gemm_matrix){.row = p->res[1],
                                   .col = res_stride,
                                   .batch = {p->res[0], p->k * p->res[1]},
                                   .operand = p->operand[CONV_C]};
    matrix[GEMM_BIAS] = (gemm_matrix){
        .row = p->bias, .batch = {0, p->k * p->bias}, .operand = p->operand[CONV_BIAS]};
    matrix[GEMM_D] = (gemm_matrix){.row = p->y[1],
                                   .col = y_stride,
                                   .batch = {p->y[0], p->k * p->y[1]},
                                   .operand = p->operand[CONV_Y]};
    return g;
}

bool tn_conv_implicit_by_vectors(const conv_problem *p, int64_t lanes)
{
    const conv_window *v = &p->window;
    int64_t pitch = v->stride[2] * p->x[4];
    bool rows_join = v->stride[1] * p->x[3] == v->out[2] * pitch;
    return (pitch == 1 || pitch == 2) && (rows_join || v->out[2] >= lanes);
}

static conv_product_args product_args(const conv_problem *p, const gemm_args *gemm)
{
    const conv_window *v = &p->window;
    conv_tap_order order;
    conv_product_args args = {.gemm = *gemm,
                              .x_stride = {p->x[2], p->x[3], p->x[4]},
                              .channel = p->x[1],
                              .taps = tn_window_taps(v),
                              .channels = p->c,
                              .x_span = (p->c - 1) * p->x[1] + 1,
                              .window = *v};
    tn_conv_find_tap_order(p, &order);
    args.tap_channel = order.channel_last ? 1 : args.taps;
    args.tap_stride = order.channel_last ? p->c : 1;
    for (int d = 0; d < 3; d++)
        args.x_span += (v->size[d] - 1) * p->x[2 + d];
    return args;
}

tenon_status tn_conv_implicit_record(const char *caller, tn_recording *recording,
                                     const conv_problem *p, const gemm_problem *product,
                                     int64_t tile_rows, tn_launch *launch)
{
    const uint8_t *at = p->operand, result = at[CONV_Y];
    /* An operand that is not read may be absent: the output is passed in its place to keep every
     * pointer valid. */
    const uint16_t operands[] = {at[CONV_W], at[CONV_X],
                                 (p->flags & CONV_HAS_C) != 0 ? at[CONV_C] : result,
                                 (p->flags & CONV_HAS_BIAS) != 0 ? at[CONV_BIAS] : result, result};
    gemm_arguments arguments;
    tn_gemm_arguments(product, &arguments);
    arguments.args.tile_rows = (tenon_i32)tile_rows;
    const conv_product_args args = product_args(p, &arguments.args);
    memcpy(launch->operands, operands, sizeof operands);
    launch->operand_count = sizeof operands / sizeof *operands;
    launch->dimensions = 3;
    launch->global[2] = (size_t)tn_gemm_batch_count(product);
    launch->local[2] = 1;
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = arguments.patches;
    launch->patch_count = arguments.patch_count;
    return tn_record(caller, recording, launch);
}

const int64_t *tn_conv_gathered(const conv_problem *p, conv_direction direction)
{
    return direction == CONV_GRADIENT_OF_IMAGE ? p->y : p->x;
}

bool tn_conv_gathers_along_k(const conv_problem *p, conv_direction direction)
{
    const int64_t *image = tn_conv_gathered(p, direction);
    bool channels_last = image[1] == 1 && image[4] != 1;
    return channels_last != (direction == CONV_GRADIENT_OF_FILTER);
}

bool tn_conv_sums_channels_last(const conv_problem *p)
{
    return !tn_conv_gathers_along_k(p, CONV_GRADIENT_OF_FILTER);
}

int64_t tn_conv_pixels(const conv_problem *p)
{
    return p->n * tn_window_pixels(&p->window);
}

int64_t tn_conv_phases(const conv_window *window, int d)
{
    return tn_max_i64(1, tn_min_i64(window->stride[d], window->size[d]));
}
