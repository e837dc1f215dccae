/* Copies for implicit_matrix: images and filters are copied to the workspace with contiguous
 * channels (N H W C) by the kernel of copy/transpose_local. */
#include "base/checked.h"
#include "ops/common/walk.h"
#include "ops/conv/implicit/matrix.h"
#include "runtime/context/context.h"

#include <stddef.h>
#include <string.h>

/* Alignment of the copies in elements, for cache lines. */
#define ALIGNMENT 64

/* Sets the sizes of one of a convolution's tensors, and returns its strides. */
static const int64_t *shape_of(const conv_problem *p, int operand, int64_t shape[CONV_RANK])
{
    const conv_window *v = &p->window;
    const bool is_w = operand == CONV_W;
    const int64_t *size = is_w ? v->filter : operand == CONV_X ? v->size : v->out;
    shape[0] = is_w ? p->groups * p->k : p->n;
    shape[1] = is_w ? p->c : p->groups * (operand == CONV_X ? p->c : p->k);
    memcpy(shape + 2, size, 3 * sizeof *shape);
    return is_w ? p->w : operand == CONV_X ? p->x : p->y;
}

/* Sets the strides of a dense tensor with the channels as its last dimension; dimensions of one
 * element have stride 0, as in a problem. */
static void channels_last(const int64_t shape[CONV_RANK], int64_t stride[CONV_RANK])
{
    static const int order[CONV_RANK] = {1, 4, 3, 2, 0};
    int64_t next = 1;
    for (int i = 0; i < CONV_RANK; i++) {
        const int d = order[i];
        stride[d] = shape[d] > 1 ? next : 0;
        next *= shape[d];
    }
}

/* Fills in the arguments: the last dimensions that merge in both tensors become the rows, the
 * others count planes. Returns false if the rows are not contiguous. */
static bool fill_args(const int64_t shape[CONV_RANK], const int64_t from[CONV_RANK], conv_copy *c)
{
    transpose_args *args = &c->args;
    int d = CONV_RANK - 1;
    *args = (transpose_args){.columns = shape[1],
                             .rows = 1,
                             .x_step = from[1],
                             .y_step = shape[1],
                             .block_columns = TRANSPOSE_TILE,
                             .block_rows = TRANSPOSE_TILE};
    for (; d >= 2 && (shape[d] == 1 || from[d] == args->rows); d--)
        args->rows *= shape[d];
    for (int outer = 0; outer <= d; outer++) {
        if (outer == 1 || shape[outer] == 1)
            continue;
        args->shape[args->rank] = shape[outer];
        args->stride[0][args->rank] = from[outer];
        args->stride[1][args->rank++] = c->stride[outer];
    }
    args->blocks[0] = tn_ceil_div(args->columns, TRANSPOSE_TILE);
    args->blocks[1] = tn_ceil_div(args->rows, TRANSPOSE_TILE);
    c->blocks = c->elements / (args->rows * args->columns) * args->blocks[0] * args->blocks[1];
    return args->rows > 1 && args->columns > 1;
}

static void add_copy(const conv_problem *p, int operand, int matrix, conv_copies *copies)
{
    conv_copy *c = &copies->copy[copies->count];
    int64_t shape[CONV_RANK];
    const int64_t *from = shape_of(p, operand, shape);
    *c = (conv_copy){.operand = (uint8_t)operand, .matrix = (uint8_t)matrix, .elements = 1};
    for (int d = 0; d < CONV_RANK; d++)
        c->elements *= shape[d];
    channels_last(shape, c->stride);
    copies->count += fill_args(shape, from, c);
}

conv_problem tn_conv_copied(const conv_problem *p, const conv_copies *copies)
{
    conv_problem copied = *p;
    for (int i = 0; i < copies->count; i++) {
        const conv_copy *c = &copies->copy[i];
        int64_t *stride = c->operand == CONV_X   ? copied.x
                          : c->operand == CONV_W ? copied.w
                                                 : copied.y;
        memcpy(stride, c->stride, sizeof c->stride);
    }
    return copied;
}

/* Returns how the factors are loaded if the current copies are used. */
static conv_vectors find_vectors(const conv_problem *p, conv_direction direction,
                                 const conv_copies *copies)
{
    const conv_problem read = tn_conv_copied(p, copies);
    conv_tiled_layout l;
    tn_conv_tiled_lay_out(&read, direction, 1, &l);
    return tn_conv_find_vectors(&read, &l);
}

/* The layout of the image determines the order of k, and thus which elements of the other factor
 * are adjacent. */
conv_vectors tn_conv_copies_lay_out(const conv_problem *p, conv_direction direction,
                                    conv_copies *copies)
{
    copies->count = 0;
    const conv_vectors given = find_vectors(p, direction, copies);
    if (!given.image || !given.image_aligned)
        add_copy(p, direction == CONV_GRADIENT_OF_IMAGE ? CONV_Y : CONV_X, GEMM_B, copies);
    if (!find_vectors(p, direction, copies).a)
        add_copy(p, direction == CONV_GRADIENT_OF_FILTER ? CONV_Y : CONV_W, GEMM_A, copies);
    return find_vectors(p, direction, copies);
}

uint64_t tn_conv_copies_place(const conv_problem *p, const conv_tiled_layout *l,
                              conv_copies *copies)
{
    const uint64_t size = tenon_dtype_size((tenon_dtype)p->dtype),
                   sums = tn_conv_slices_size(p, l->slices);
    int64_t at = (int64_t)(sums / size);
    if (copies->count == 0)
        return sums;
    for (int i = 0; i < copies->count; i++) {
        copies->copy[i].at = tn_round_up(at, ALIGNMENT);
        at = copies->copy[i].at + copies->copy[i].elements;
    }
    return (uint64_t)at * size;
}

tn_frame tn_conv_copies_frame(const conv_problem *p, const conv_copies *copies)
{
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_frame frame = tn_frame_after(0);
    for (int i = 0; i < copies->count; i++) {
        const conv_copy *c = &copies->copy[i];
        tn_frame_operand(&frame, p->operand[c->operand], TN_WORKSPACE, c->at * size);
    }
    return frame;
}

/* 16-bit elements are transposed one by one, in tiles; partial tiles cost as much as whole ones. */
tn_work tn_conv_copy_work(uint32_t dtype, const conv_copy *c)
{
    const double tile = TRANSPOSE_TILE * TRANSPOSE_TILE,
                 bytes = (double)tenon_dtype_size((tenon_dtype)dtype);
    return (tn_work){.launches = 1,
                     .single_elements = 0.6 * tile * (double)c->blocks,
                     .bytes = 2 * bytes * (double)c->elements,
                     .reads = TN_COALESCED};
}

static tenon_status record_copy(const char *caller, tn_recording *recording, const conv_problem *p,
                                const conv_copy *c)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    char options[TN_OPTIONS_SIZE];
    transpose_args args = c->args;
    const uint8_t from = p->operand[c->operand];
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, from, offsetof(transpose_args, offset[0]), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(transpose_args, offset[1]), size}};
    tn_element_options(recording->context, (tenon_dtype)p->dtype, NULL, options);
    args.offset[1] = c->at;
    const tn_launch launch = {.source = "elementwise/transpose",
                              .options = options,
                              .kernel = "transpose_local",
                              .dimensions = 2,
                              .global = {(size_t)c->blocks * TRANSPOSE_TILE, TRANSPOSE_ITEMS},
                              .local = {TRANSPOSE_TILE, TRANSPOSE_ITEMS},
                              .operands = {from, TN_WORKSPACE},
                              .operand_count = 2,
                              TN_ARGS(args),
                              TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

tenon_status tn_conv_record_copies(const char *caller, tn_recording *recording,
                                   const conv_problem *p, const conv_copies *copies)
{
    for (int i = 0; i < copies->count; i++)
        TN_TRY(record_copy(caller, recording, p, &copies->copy[i]));
    return TENON_OK;
}
