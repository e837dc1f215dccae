/* The workspace of a recurrent layer, and the launches that fill it before the first step. */
#include "base/checked.h"
#include "ops/rnn/internal.h"

#include <stddef.h>
#include <string.h>

/* Units of a panel on a GPU, as in rnn/rnn.clh; and the alignment of parts, in elements. */
#define GPU_PANEL 32
#define ALIGNMENT 32

#include "ops/common/gpu.h"

/* Returns the place of a part of `count` elements, after which the next one begins. */
static int64_t part(rnn_layout *l, int64_t count)
{
    const int64_t at = l->end;
    l->end = tn_round_up(l->end + count, ALIGNMENT);
    return at;
}

void tn_rnn_lay_out(const tenon_context *context, const rnn_problem *p, rnn_layout *l)
{
    const rnn_sizes *s = &p->size;
    const int64_t rows = s->directions * s->batch, gates = RNN_GATES_OF(p->cell);
    const int64_t row = gates * s->hidden;
    *l = (rnn_layout){.widens = tenon_dtype_size((tenon_dtype)p->dtype) == 2};
    l->panel = context->device.is_cpu ? (int64_t)tn_lanes(context, p->dtype) : GPU_PANEL;
    l->padded = tn_round_up(s->hidden, l->panel);
    l->padded_output = tn_round_up(s->output, l->panel);
    l->swapped = p->stride[RNN_X][0] < p->stride[RNN_X][1] && s->steps > 1 && s->batch > 1;
    l->gate_stride[0] = s->steps * s->batch * row;
    l->gate_stride[1] = l->swapped ? row : s->batch * row;
    l->gate_stride[2] = l->swapped ? s->steps * row : row;
    if (l->widens) {
        l->x = part(l, s->steps * s->batch * s->inputs);
        l->w = part(l, s->directions * row * s->inputs);
    }
    /* Vectors at the end of a row reach past it. */
    l->gates = part(l, s->directions * l->gate_stride[0] + l->panel);
    l->panels = part(l, s->directions * l->padded * s->output * RNN_FIRST_OF(p->cell));
    l->bias = part(l, s->directions * RNN_BIASES_OF(p->cell) * l->padded);
    l->peephole = part(l, s->directions * 3 * l->padded);
    l->state = part(l, 2 * rows * l->padded_output);
    l->cell = part(l, p->cell == RNN_CELL_LSTM ? rows * l->padded : 0);
    if (tn_rnn_has_second(p)) {
        l->second = part(l, s->directions * l->padded_output * s->hidden);
        l->product = part(l, rows * l->padded);
    }
    l->update = part(l, p->cell == RNN_CELL_GRU ? rows * l->padded : 0);
}

/* Returns a view without memory of rank 4. */
static tenon_tensor view4(uint32_t dtype, const int64_t shape[4], const int64_t stride[4])
{
    tenon_tensor view = {.dtype = (tenon_dtype)dtype, .rank = 4};
    memcpy(view.shape, shape, 4 * sizeof *shape);
    memcpy(view.stride, stride, 4 * sizeof *stride);
    return view;
}

/* The strides of x and w for the product: the caller's, or those of their dense copies. */
static void factor_strides(const rnn_problem *p, const rnn_layout *l, int64_t x[3], int64_t w[3])
{
    const rnn_sizes *s = &p->size;
    const int64_t rows = RNN_GATES_OF(p->cell) * s->hidden;
    const int64_t dense_x[] = {s->batch * s->inputs, s->inputs, 1};
    const int64_t dense_w[] = {rows * s->inputs, s->inputs, 1};
    memcpy(x, l->widens ? dense_x : p->stride[RNN_X], sizeof dense_x);
    memcpy(w, l->widens ? dense_w : p->stride[RNN_W], sizeof dense_w);
}

tenon_status tn_rnn_input_product(const char *caller, const rnn_problem *p, const rnn_layout *l,
                                  gemm_problem *product, tn_frame *frame)
{
    static const double ones[TN_EPILOGUE_SCALARS] = {[TN_SCALAR_ALPHA] = 1};
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const rnn_sizes *s = &p->size;
    const int64_t d = s->directions, rows = RNN_GATES_OF(p->cell) * s->hidden;
    const int outer = l->swapped ? 1 : 0, inner = 1 - outer;
    const int64_t count[] = {s->steps, s->batch};
    const uint32_t dtype = p->dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
    const uint64_t size = tn_acc_size(dtype), used = (uint64_t)l->end * size;
    int64_t xs[3], ws[3];
    bool empty;
    factor_strides(p, l, xs, ws);
    const tenon_tensor x = view4(dtype, (int64_t[]){d, count[outer], count[inner], s->inputs},
                                 (int64_t[]){0, xs[outer], xs[inner], xs[2]});
    const tenon_tensor w =
        view4(dtype, (int64_t[]){d, 1, s->inputs, rows}, (int64_t[]){ws[0], 0, ws[2], ws[1]});
    const tenon_tensor gates = view4(
        dtype, (int64_t[]){d, count[outer], count[inner], rows},
        (int64_t[]){l->gate_stride[0], l->gate_stride[1 + outer], l->gate_stride[1 + inner], 1});
    TN_TRY(tn_gemm_canonicalize(caller, &params, &x, &w, NULL, NULL, &gates, product, &empty));
    product->head.workspace_limit = tn_frame_room(p->head.workspace_limit, used);
    *frame = tn_frame_after(used);
    tn_frame_operand(frame, GEMM_A, l->widens ? TN_WORKSPACE : RNN_X, l->x * (int64_t)size);
    tn_frame_operand(frame, GEMM_B, l->widens ? TN_WORKSPACE : RNN_W, l->w * (int64_t)size);
    tn_frame_operand(frame, GEMM_D, TN_WORKSPACE, l->gates * (int64_t)size);
    tn_frame_constants(frame, ones, TN_EPILOGUE_SCALARS);
    return TENON_OK;
}

/* Records the copy of a matrix for each direction to panels: the recurrent weights of `gates` gates
 * from `first` on, or the projection. */
static tenon_status record_pack(const char *caller, tn_recording *recording, const rnn_problem *p,
                                const rnn_layout *l, const char *options, bool second)
{
    const rnn_sizes *s = &p->size;
    const bool projects = second && p->cell == RNN_CELL_LSTM;
    const uint16_t operand = projects ? RNN_PROJECTION : RNN_R;
    const int first = second && !projects ? 2 : 0;
    const tn_patch patches[] = {{TN_PATCH_OFFSET, operand, offsetof(rnn_pack_args, from_offset),
                                 (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype)},
                                {TN_PATCH_OFFSET, TN_WORKSPACE,
                                 offsetof(rnn_pack_args, work_offset),
                                 (uint32_t)tn_acc_size(p->dtype)}};
    rnn_pack_args args = {.to = second ? l->second : l->panels,
                          .units = second ? s->output : s->hidden,
                          .depth = projects ? s->hidden : s->output,
                          .gates = second ? 1 : RNN_FIRST_OF(p->cell),
                          .panel = l->panel};
    for (int g = 0; g < args.gates && !projects; g++)
        args.gate[g] = tn_rnn_gate(p->cell, p->order, first + g) * s->hidden;
    memcpy(args.stride, p->stride[operand], sizeof args.stride);
    const int64_t panels = tn_ceil_div(args.units, l->panel);
    const tn_launch pack = {.source = "rnn/prepare",
                            .options = options,
                            .kernel = "pack",
                            .dimensions = 3,
                            .global = {(size_t)l->panel,
                                       (size_t)(panels * tn_ceil_div(args.depth, RNN_PACKED_STEPS)),
                                       (size_t)s->directions},
                            .local = {(size_t)l->panel, 1, 1},
                            .operands = {operand, TN_WORKSPACE},
                            .operand_count = 2,
                            TN_ARGS(args),
                            TN_PATCHES(patches)};
    return tn_record(caller, recording, &pack);
}

static void begin_args(const rnn_problem *p, const rnn_layout *l, rnn_begin_args *args)
{
    const rnn_sizes *s = &p->size;
    *args = (rnn_begin_args){.bias = l->bias,
                             .peephole = l->peephole,
                             .state = l->state,
                             .cell = l->cell,
                             .steps = s->steps,
                             .batch = s->batch,
                             .hidden = s->hidden,
                             .output = s->output,
                             .padded = l->padded,
                             .padded_output = l->padded_output,
                             .flags = (tenon_i32)p->flags};
    for (int g = 0; g < RNN_GATES_OF(p->cell); g++)
        args->gate[g] = tn_rnn_gate(p->cell, p->order, g) * s->hidden;
    if (p->cell == RNN_CELL_GRU_AFTER) /* the recurrent bias of n */
        args->gate[3] = args->gate[2];
    for (int g = 0; g < 3; g++)
        args->peephole_at[g] = tn_rnn_peephole(p->order, g) * s->hidden;
    memcpy(args->bias_stride, p->stride[RNN_BIAS], sizeof args->bias_stride);
    memcpy(args->recurrent_bias_stride, p->stride[RNN_RECURRENT_BIAS],
           sizeof args->recurrent_bias_stride);
    memcpy(args->peephole_stride, p->stride[RNN_PEEPHOLE], sizeof args->peephole_stride);
    memcpy(args->h0_stride, p->stride[RNN_H0], sizeof args->h0_stride);
    memcpy(args->c0_stride, p->stride[RNN_C0], sizeof args->c0_stride);
    memcpy(args->hn_stride, p->stride[RNN_HN], sizeof args->hn_stride);
    memcpy(args->cn_stride, p->stride[RNN_CN], sizeof args->cn_stride);
}

/* Records the copies of biases, peepholes and initial states. */
static tenon_status record_states(const char *caller, tn_recording *recording, const rnn_problem *p,
                                  const rnn_layout *l, const char *options)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, RNN_BIAS, offsetof(rnn_begin_args, bias_offset), size},
        {TN_PATCH_OFFSET, RNN_RECURRENT_BIAS, offsetof(rnn_begin_args, recurrent_bias_offset),
         size},
        {TN_PATCH_OFFSET, RNN_PEEPHOLE, offsetof(rnn_begin_args, peephole_offset), size},
        {TN_PATCH_OFFSET, RNN_H0, offsetof(rnn_begin_args, h0_offset), size},
        {TN_PATCH_OFFSET, RNN_C0, offsetof(rnn_begin_args, c0_offset), size},
        {TN_PATCH_OFFSET, RNN_HN, offsetof(rnn_begin_args, hn_offset), size},
        {TN_PATCH_OFFSET, RNN_CN, offsetof(rnn_begin_args, cn_offset), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(rnn_begin_args, work_offset),
         (uint32_t)tn_acc_size(p->dtype)}};
    rnn_begin_args args;
    begin_args(p, l, &args);
    tn_launch begin = {.source = "rnn/prepare",
                       .options = options,
                       .kernel = "begin",
                       .dimensions = 3,
                       .global = {(size_t)tn_max_i64(l->padded, l->padded_output),
                                  (size_t)(RNN_BIASES_OF(p->cell) + 3 + p->size.batch),
                                  (size_t)p->size.directions},
                       .operands = {RNN_BIAS, RNN_RECURRENT_BIAS, RNN_PEEPHOLE, RNN_H0, RNN_C0,
                                    RNN_HN, RNN_CN, TN_WORKSPACE},
                       .operand_count = 8,
                       TN_ARGS(args),
                       TN_PATCHES(patches)};
    begin.local[0] = (size_t)l->panel;
    begin.local[1] = begin.local[2] = 1;
    return tn_record(caller, recording, &begin);
}

/* Records the copy of x or w in the accumulator's type. */
static tenon_status record_widen(const char *caller, tn_recording *recording, const rnn_problem *p,
                                 const char *options, uint16_t operand, int64_t to,
                                 const int64_t shape[3])
{
    const tn_patch patches[] = {{TN_PATCH_OFFSET, operand, offsetof(rnn_widen_args, from_offset),
                                 (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype)},
                                {TN_PATCH_OFFSET, TN_WORKSPACE,
                                 offsetof(rnn_widen_args, work_offset),
                                 (uint32_t)tn_acc_size(p->dtype)}};
    rnn_widen_args args = {.to = to};
    memcpy(args.shape, shape, sizeof args.shape);
    memcpy(args.stride, p->stride[operand], sizeof args.stride);
    const tn_launch widen = {
        .source = "rnn/prepare",
        .options = options,
        .kernel = "widen",
        .dimensions = 3,
        .global = {(size_t)tn_round_up(shape[2], 32), (size_t)shape[1], (size_t)shape[0]},
        .local = {32, 1, 1},
        .operands = {operand, TN_WORKSPACE},
        .operand_count = 2,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    return tn_record(caller, recording, &widen);
}

static tenon_status record_product(const char *caller, tn_recording *recording,
                                   const rnn_problem *p, const rnn_layout *l, const char *options)
{
    const rnn_sizes *s = &p->size;
    gemm_problem product;
    tn_frame frame;
    if (l->widens) {
        TN_TRY(record_widen(caller, recording, p, options, RNN_X, l->x,
                            (int64_t[]){s->steps, s->batch, s->inputs}));
        TN_TRY(
            record_widen(caller, recording, p, options, RNN_W, l->w,
                         (int64_t[]){s->directions, RNN_GATES_OF(p->cell) * s->hidden, s->inputs}));
    }
    TN_TRY(tn_rnn_input_product(caller, p, l, &product, &frame));
    return tn_gemm_record(caller, recording, &frame, &product);
}

tenon_status tn_rnn_record_begin(const char *caller, tn_recording *recording, const rnn_problem *p,
                                 const rnn_layout *l)
{
    char options[TN_OPTIONS_SIZE];
    tn_build_options(recording->context, options, "-DTENON_DTYPE=%u -DRNN_CELL=%u%s", p->dtype,
                     p->cell, tn_gpu_option(recording->context));
    TN_TRY(record_states(caller, recording, p, l, options));
    if (p->size.steps == 0)
        return TENON_OK;
    TN_TRY(record_pack(caller, recording, p, l, options, false));
    if (tn_rnn_has_second(p))
        TN_TRY(record_pack(caller, recording, p, l, options, true));
    return record_product(caller, recording, p, l, options);
}
