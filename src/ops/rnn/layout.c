/* The workspace of recurrent layers and of their gradient, and the products over all steps. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/rnn/internal.h"

#include <string.h>

/* Units of a panel on a GPU, as in rnn/rnn.clh; and the alignment of parts, in elements. */
#define GPU_PANEL 32
#define ALIGNMENT 32

/* Returns the place of a part of `count` elements, after which the next one begins. */
static int64_t part(rnn_layout *l, int64_t count)
{
    const int64_t at = l->end;
    l->end = tn_round_up(l->end + count, ALIGNMENT);
    return at;
}

static int64_t rows_of(const rnn_problem *p)
{
    return RNN_GATES_OF(p->cell) * p->size.hidden;
}

static void lay_out_forward(const rnn_problem *p, rnn_layout *l)
{
    const rnn_sizes *s = &p->size;
    const int64_t rows = s->directions * s->batch, row = rows_of(p);
    const int64_t steps = l->shares > 0 ? s->steps : 1;
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
    l->state = part(l, (steps + 1) * rows * l->padded_output);
    if (tn_rnn_has_second(p)) {
        l->second = part(l, s->directions * l->padded_output * s->hidden);
        l->product = part(l, steps * rows * l->padded);
    }
    l->update = part(l, p->cell == RNN_CELL_GRU ? steps * rows * l->padded : 0);
    l->progress = part(l, l->shares * RNN_PROGRESS);
}

static void lay_out_backward(const rnn_problem *p, rnn_layout *l)
{
    const rnn_sizes *s = &p->size;
    const bool projects = (p->flags & RNN_HAS_PROJECTION) != 0;
    const int64_t columns = RNN_COLUMNS_OF(p->cell) * s->hidden;
    l->columns = columns + (projects ? s->output : 0);
    l->first_depth = (p->cell == RNN_CELL_GRU ? 2 : RNN_GATES_OF(p->cell)) * s->hidden;
    l->second_depth = projects ? s->output : s->hidden;
    l->second_column = projects ? columns : 2 * s->hidden;
    l->panels = part(l, s->directions * l->padded_output * l->first_depth);
    l->state = part(l, s->directions * s->batch * l->padded_output);
    if (tn_rnn_has_second(p))
        l->second = part(l, s->directions * l->padded * l->second_depth);
    if (l->widens && (p->flags & RNN_HAS_DX) != 0) {
        l->dx = part(l, s->steps * s->batch * s->inputs);
        l->w = part(l, s->directions * rows_of(p) * s->inputs);
    }
}

void tn_rnn_lay_out(const tenon_context *context, const rnn_problem *p, int64_t shares,
                    rnn_layout *l)
{
    const rnn_sizes *s = &p->size;
    const int64_t cells = s->directions * s->batch * (shares > 0 ? s->steps + 1 : 1);
    *l = (rnn_layout){.shares = shares, .widens = tenon_dtype_size((tenon_dtype)p->dtype) == 2};
    l->panel = context->device.is_cpu ? (int64_t)tn_lanes(context, p->dtype) : GPU_PANEL;
    l->padded = tn_round_up(s->hidden, l->panel);
    l->padded_output = tn_round_up(s->output, l->panel);
    if (p->backward)
        lay_out_backward(p, l);
    else
        lay_out_forward(p, l);
    l->peephole = part(l, s->directions * 3 * l->padded);
    l->cell = part(l, p->cell == RNN_CELL_LSTM ? cells * l->padded : 0);
}

tenon_tensor tn_rnn_view4(tenon_dtype dtype, const int64_t shape[4], const int64_t stride[4])
{
    tenon_tensor view = {.dtype = dtype, .rank = 4};
    memcpy(view.shape, shape, 4 * sizeof *shape);
    memcpy(view.stride, stride, 4 * sizeof *stride);
    return view;
}

static const double ones[TN_EPILOGUE_SCALARS] = {[TN_SCALAR_ALPHA] = 1, [TN_SCALAR_BETA] = 1};

void tn_rnn_finish_product(const rnn_problem *p, uint64_t used, gemm_problem *product,
                           tn_frame *frame)
{
    product->head.workspace_limit = tn_frame_room(p->head.workspace_limit, used);
    *frame = tn_frame_after(used);
    tn_frame_constants(frame, ones, TN_EPILOGUE_SCALARS);
}

static tenon_dtype sums_of(const rnn_problem *p)
{
    return p->dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}

/* Writes the strides of a tensor of rank 3 for a product: the caller's, or those of a dense copy.
 */
static void strides_of(const rnn_problem *p, const rnn_layout *l, int operand, int64_t rows,
                       int64_t columns, int64_t stride[3])
{
    const int64_t dense[] = {rows * columns, columns, 1};
    memcpy(stride, l->widens ? dense : p->stride[operand], sizeof dense);
}

tenon_status tn_rnn_input_product(const char *caller, const rnn_problem *p, const rnn_layout *l,
                                  gemm_problem *product, tn_frame *frame)
{
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const rnn_sizes *s = &p->size;
    const int64_t d = s->directions, rows = rows_of(p);
    const int outer = l->swapped ? 1 : 0, inner = 1 - outer;
    const int64_t count[] = {s->steps, s->batch}, size = (int64_t)tn_acc_size(p->dtype);
    int64_t xs[3], ws[3];
    bool empty;
    strides_of(p, l, RNN_X, s->batch, s->inputs, xs);
    strides_of(p, l, RNN_W, rows, s->inputs, ws);
    const tenon_tensor x =
        tn_rnn_view4(sums_of(p), (int64_t[]){d, count[outer], count[inner], s->inputs},
                     (int64_t[]){0, xs[outer], xs[inner], xs[2]});
    const tenon_tensor w = tn_rnn_view4(sums_of(p), (int64_t[]){d, 1, s->inputs, rows},
                                        (int64_t[]){ws[0], 0, ws[2], ws[1]});
    const tenon_tensor gates = tn_rnn_view4(
        sums_of(p), (int64_t[]){d, count[outer], count[inner], rows},
        (int64_t[]){l->gate_stride[0], l->gate_stride[1 + outer], l->gate_stride[1 + inner], 1});
    TN_TRY(tn_gemm_canonicalize(caller, &params, &x, &w, NULL, NULL, &gates, product, &empty));
    tn_rnn_finish_product(p, (uint64_t)l->end * tn_acc_size(p->dtype), product, frame);
    tn_frame_operand(frame, GEMM_A, l->widens ? TN_WORKSPACE : RNN_X, l->x * size);
    tn_frame_operand(frame, GEMM_B, l->widens ? TN_WORKSPACE : RNN_W, l->w * size);
    tn_frame_operand(frame, GEMM_D, TN_WORKSPACE, l->gates * size);
    return TENON_OK;
}

tenon_status tn_rnn_dx_product(const char *caller, const rnn_problem *p, const rnn_layout *l,
                               int64_t direction, gemm_problem *product, tn_frame *frame)
{
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const rnn_sizes *s = &p->size;
    const int64_t rows = rows_of(p), size = (int64_t)tn_acc_size(p->dtype);
    const int64_t first = p->cell == RNN_CELL_GRU_AFTER ? s->hidden : 0,
                  gates = direction * s->steps * s->batch * l->columns + first;
    int64_t xs[3], ws[3];
    bool empty;
    strides_of(p, l, RNN_DATA_DX, s->batch, s->inputs, xs);
    strides_of(p, l, RNN_DATA_W, rows, s->inputs, ws);
    const tenon_tensor a = tn_rnn_view4(sums_of(p), (int64_t[]){1, s->steps, s->batch, rows},
                                        (int64_t[]){0, s->batch * l->columns, l->columns, 1});
    const tenon_tensor w = tn_rnn_view4(sums_of(p), (int64_t[]){1, 1, rows, s->inputs},
                                        (int64_t[]){0, 0, ws[1], ws[2]});
    const tenon_tensor dx = tn_rnn_view4(sums_of(p), (int64_t[]){1, s->steps, s->batch, s->inputs},
                                         (int64_t[]){0, xs[0], xs[1], xs[2]});
    TN_TRY(tn_gemm_canonicalize(caller, &params, &a, &w, direction > 0 ? &dx : NULL, NULL, &dx,
                                product, &empty));
    tn_rnn_finish_product(p, (uint64_t)l->end * tn_acc_size(p->dtype), product, frame);
    tn_frame_operand(frame, GEMM_A, RNN_DATA_DGATES, gates * size);
    tn_frame_operand(frame, GEMM_B, l->widens ? TN_WORKSPACE : RNN_DATA_W,
                     (l->w + direction * ws[0]) * size);
    tn_frame_operand(frame, GEMM_C, l->widens ? TN_WORKSPACE : RNN_DATA_DX, l->dx * size);
    tn_frame_operand(frame, GEMM_D, l->widens ? TN_WORKSPACE : RNN_DATA_DX, l->dx * size);
    return TENON_OK;
}
