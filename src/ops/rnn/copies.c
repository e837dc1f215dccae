/* The launches of recurrent layers besides the steps: copies to and from the workspace, and the
 * products over all steps. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/rnn/internal.h"

#include <stddef.h>
#include <string.h>

static void prepare_options(const tn_recording *recording, const rnn_problem *p,
                            char options[TN_OPTIONS_SIZE])
{
    tn_build_options(recording->context, options, "-DTENON_DTYPE=%u -DRNN_CELL=%u%s", p->dtype,
                     p->cell, tn_gpu_option(recording->context));
}

static uint32_t size_of(const rnn_problem *p)
{
    return (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
}

/* Sets the panels of the recurrent weights of a step's first product, or of its second one. The
 * second product of a layer multiplies by R of the last gate, or by the projection. */
static uint16_t forward_panels(const rnn_problem *p, const rnn_layout *l, bool second,
                               rnn_pack_args *args)
{
    const rnn_sizes *s = &p->size;
    const bool projects = second && p->cell == RNN_CELL_LSTM;
    const uint16_t operand = projects ? RNN_PROJECTION : RNN_R;
    args->to = second ? l->second : l->panels;
    args->units = second ? s->output : s->hidden;
    args->depth = projects ? s->hidden : s->output;
    args->gates = second ? 1 : RNN_FIRST_OF(p->cell);
    args->block = args->depth;
    for (int g = 0; g < args->gates && !projects; g++)
        args->gate[g] = tn_rnn_gate(p->cell, p->order, second ? 2 : g) * s->hidden;
    memcpy(args->stride, p->stride[operand], sizeof args->stride);
    return operand;
}

/* The same for the gradient, which multiplies by the transposed matrices: k counts their rows. */
static uint16_t backward_panels(const rnn_problem *p, const rnn_layout *l, bool second,
                                rnn_pack_args *args)
{
    const rnn_sizes *s = &p->size;
    const bool projects = second && p->cell == RNN_CELL_LSTM;
    const uint16_t operand = projects ? RNN_DATA_PROJECTION : RNN_DATA_R;
    args->to = second ? l->second : l->panels;
    args->units = second ? s->hidden : s->output;
    args->depth = second ? l->second_depth : l->first_depth;
    args->gates = 1;
    args->block = projects ? args->depth : s->hidden;
    for (int g = 0; g < 4 && !projects; g++)
        args->k_gate[g] = second ? 2 * s->hidden : g * s->hidden;
    if (p->cell == RNN_CELL_GRU_AFTER) { /* the columns of dgates begin with n */
        args->k_gate[0] = 2 * s->hidden;
        args->k_gate[1] = 0;
        args->k_gate[2] = s->hidden;
    }
    args->stride[0] = p->stride[operand][0];
    args->stride[1] = p->stride[operand][2];
    args->stride[2] = p->stride[operand][1];
    return operand;
}

static tenon_status record_pack(const char *caller, tn_recording *recording, const rnn_problem *p,
                                const rnn_layout *l, bool second)
{
    char options[TN_OPTIONS_SIZE];
    rnn_pack_args args = {.panel = l->panel};
    const uint16_t operand = (p->backward ? backward_panels : forward_panels)(p, l, second, &args);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, operand, offsetof(rnn_pack_args, from_offset), size_of(p)},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(rnn_pack_args, work_offset),
         (uint32_t)tn_acc_size(p->dtype)}};
    const int64_t panels = tn_ceil_div(args.units, l->panel),
                  blocks = tn_ceil_div(args.depth, RNN_PACKED_STEPS);
    tn_launch pack = {
        .source = "rnn/prepare",
        .options = options,
        .kernel = "pack",
        .dimensions = 3,
        .global = {(size_t)l->panel, (size_t)(panels * blocks), (size_t)p->size.directions},
        .local = {(size_t)l->panel, 1, 1},
        .operands = {operand, TN_WORKSPACE},
        .operand_count = 2,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    prepare_options(recording, p, options);
    if (recording->context->device.is_cpu) {
        pack.source = "rnn/pack_rows";
        pack.kernel = "pack_rows";
        pack.global[0] = (size_t)tn_ceil_div(args.depth, l->panel * RNN_PACKED_SQUARES);
        pack.global[1] = (size_t)panels;
        pack.local[0] = 1;
        tn_build_options(recording->context, options, "-DTENON_DTYPE=%u -DTENON_VW=%d", p->dtype,
                         (int)l->panel);
    }
    return tn_record(caller, recording, &pack);
}

/* The operands of the kernel `begin`. Those of the gradient have no biases; any operand takes their
 * place. */
enum { BEGIN_BIAS, BEGIN_RECURRENT_BIAS, BEGIN_PEEPHOLE, BEGIN_H0, BEGIN_C0, BEGIN_HN, BEGIN_CN };
#define BEGIN_OPERANDS (BEGIN_CN + 1)
static const uint16_t begin_forward[BEGIN_OPERANDS] = {
    RNN_BIAS, RNN_RECURRENT_BIAS, RNN_PEEPHOLE, RNN_H0, RNN_C0, RNN_HN, RNN_CN};
static const uint16_t begin_backward[BEGIN_OPERANDS] = {
    RNN_DATA_PEEPHOLE, RNN_DATA_PEEPHOLE, RNN_DATA_PEEPHOLE, RNN_DATA_DHN,
    RNN_DATA_DCN,      RNN_DATA_DH0,      RNN_DATA_DC0};

/* Returns the flags of the kernel, whose h0 and c0 are the gradients of hn and cn. */
static uint32_t begin_flags(const rnn_problem *p)
{
    if (!p->backward)
        return p->flags;
    return (p->flags & (RNN_HAS_PEEPHOLE | RNN_HAS_HN | RNN_HAS_CN)) |
           ((p->flags & RNN_HAS_DHN) != 0 ? RNN_HAS_H0 : 0) |
           ((p->flags & RNN_HAS_DCN) != 0 ? RNN_HAS_C0 : 0);
}

static void begin_args(const rnn_problem *p, const rnn_layout *l, const uint16_t *operands,
                       rnn_begin_args *args)
{
    const rnn_sizes *s = &p->size;
    *args = (rnn_begin_args){.bias = l->bias,
                             .peephole = l->peephole,
                             .state = l->state,
                             .cell = l->cell,
                             .progress = l->progress,
                             .shares = l->shares,
                             .steps = s->steps,
                             .batch = s->batch,
                             .hidden = s->hidden,
                             .output = s->output,
                             .padded = l->padded,
                             .padded_output = l->padded_output,
                             .flags = (tenon_i32)begin_flags(p)};
    for (int g = 0; g < RNN_GATES_OF(p->cell); g++)
        args->gate[g] = tn_rnn_gate(p->cell, p->order, g) * s->hidden;
    if (p->cell == RNN_CELL_GRU_AFTER) /* the recurrent bias of n */
        args->gate[3] = args->gate[2];
    for (int g = 0; g < 3; g++)
        args->peephole_at[g] = tn_rnn_peephole(p->order, g) * s->hidden;
    const struct {
        tenon_i64 *to;
        size_t count;
    } strides[BEGIN_OPERANDS] = {{args->bias_stride, 2},     {args->recurrent_bias_stride, 2},
                                 {args->peephole_stride, 2}, {args->h0_stride, 3},
                                 {args->c0_stride, 3},       {args->hn_stride, 3},
                                 {args->cn_stride, 3}};
    for (size_t i = 0; i < BEGIN_OPERANDS; i++)
        for (size_t d = 0; d < strides[i].count; d++)
            strides[i].to[d] = p->stride[operands[i]][d];
}

/* Records the copies of biases, peepholes and initial states. */
static tenon_status record_states(const char *caller, tn_recording *recording, const rnn_problem *p,
                                  const rnn_layout *l)
{
    static const uint16_t offsets[BEGIN_OPERANDS] = {
        offsetof(rnn_begin_args, bias_offset),     offsetof(rnn_begin_args, recurrent_bias_offset),
        offsetof(rnn_begin_args, peephole_offset), offsetof(rnn_begin_args, h0_offset),
        offsetof(rnn_begin_args, c0_offset),       offsetof(rnn_begin_args, hn_offset),
        offsetof(rnn_begin_args, cn_offset)};
    const uint16_t *operands = p->backward ? begin_backward : begin_forward;
    const int biases = RNN_BIASES_OF(p->cell);
    char options[TN_OPTIONS_SIZE];
    tn_patch patches[BEGIN_OPERANDS + 1];
    rnn_begin_args args;
    begin_args(p, l, operands, &args);
    args.skip = p->backward ? biases : 0;
    tn_launch begin = {.source = "rnn/prepare",
                       .options = options,
                       .kernel = "begin",
                       .dimensions = 3,
                       .global = {(size_t)tn_max_i64(l->padded, l->padded_output),
                                  (size_t)(biases - args.skip + 3 + p->size.batch),
                                  (size_t)p->size.directions},
                       .local = {(size_t)l->panel, 1, 1},
                       .operand_count = BEGIN_OPERANDS + 1,
                       TN_ARGS(args),
                       TN_PATCHES(patches)};
    for (int i = 0; i < BEGIN_OPERANDS; i++) {
        begin.operands[i] = operands[i];
        patches[i] = (tn_patch){TN_PATCH_OFFSET, operands[i], offsets[i], size_of(p)};
    }
    begin.operands[BEGIN_OPERANDS] = TN_WORKSPACE;
    patches[BEGIN_OPERANDS] =
        (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(rnn_begin_args, work_offset),
                   (uint32_t)tn_acc_size(p->dtype)};
    prepare_options(recording, p, options);
    return tn_record(caller, recording, &begin);
}

tenon_status tn_rnn_record_copy(const char *caller, tn_recording *recording, const rnn_problem *p,
                                const char *kernel, uint16_t operand, int64_t place,
                                const int64_t shape[3])
{
    char options[TN_OPTIONS_SIZE];
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, operand, offsetof(rnn_widen_args, from_offset), size_of(p)},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(rnn_widen_args, work_offset),
         (uint32_t)tn_acc_size(p->dtype)}};
    rnn_widen_args args = {.to = place};
    memcpy(args.shape, shape, sizeof args.shape);
    memcpy(args.stride, p->stride[operand], sizeof args.stride);
    const tn_launch copy = {
        .source = "rnn/prepare",
        .options = options,
        .kernel = kernel,
        .dimensions = 3,
        .global = {(size_t)tn_round_up(shape[2], 32), (size_t)shape[1], (size_t)shape[0]},
        .local = {32, 1, 1},
        .operands = {operand, TN_WORKSPACE},
        .operand_count = 2,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    prepare_options(recording, p, options);
    return tn_record(caller, recording, &copy);
}

/* Records the copy of w in the accumulator's type. */
static tenon_status record_weights(const char *caller, tn_recording *recording,
                                   const rnn_problem *p, const rnn_layout *l, uint16_t operand)
{
    const int64_t shape[] = {p->size.directions, RNN_GATES_OF(p->cell) * p->size.hidden,
                             p->size.inputs};
    return tn_rnn_record_copy(caller, recording, p, "widen", operand, l->w, shape);
}

static tenon_status record_input(const char *caller, tn_recording *recording, const rnn_problem *p,
                                 const rnn_layout *l)
{
    const int64_t shape[] = {p->size.steps, p->size.batch, p->size.inputs};
    gemm_problem product;
    tn_frame frame;
    if (l->widens) {
        TN_TRY(tn_rnn_record_copy(caller, recording, p, "widen", RNN_X, l->x, shape));
        TN_TRY(record_weights(caller, recording, p, l, RNN_W));
    }
    TN_TRY(tn_rnn_input_product(caller, p, l, &product, &frame));
    return tn_gemm_record(caller, recording, &frame, &product);
}

tenon_status tn_rnn_record_begin(const char *caller, tn_recording *recording, const rnn_problem *p,
                                 const rnn_layout *l)
{
    TN_TRY(record_states(caller, recording, p, l));
    if (p->size.steps == 0)
        return TENON_OK;
    TN_TRY(record_pack(caller, recording, p, l, false));
    if (tn_rnn_has_second(p))
        TN_TRY(record_pack(caller, recording, p, l, true));
    return p->backward ? TENON_OK : record_input(caller, recording, p, l);
}

tenon_status tn_rnn_record_end(const char *caller, tn_recording *recording, const rnn_problem *p,
                               const rnn_layout *l)
{
    const int64_t shape[] = {p->size.steps, p->size.batch, p->size.inputs};
    gemm_problem product;
    tn_frame frame;
    if (!p->backward || (p->flags & RNN_HAS_DX) == 0 || p->size.inputs == 0)
        return TENON_OK;
    if (l->widens)
        TN_TRY(record_weights(caller, recording, p, l, RNN_DATA_W));
    for (int64_t d = 0; d < p->size.directions; d++) {
        TN_TRY(tn_rnn_dx_product(caller, p, l, d, &product, &frame));
        TN_TRY(tn_gemm_record(caller, recording, &frame, &product));
    }
    return l->widens ? tn_rnn_record_copy(caller, recording, p, "narrow", RNN_DATA_DX, l->dx, shape)
                     : TENON_OK;
}
