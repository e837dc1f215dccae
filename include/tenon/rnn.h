/** @file
 * Recurrent layers: simple RNN, LSTM and GRU over a sequence, in one or both directions.
 */
#ifndef TENON_RNN_H
#define TENON_RNN_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The cell of a recurrent layer. x is the input of a step, h the output of the previous step (the
 * hidden state), c the state of the cell; W, R and b are the rows of a gate in `w`, `r` and in the
 * sum of `bias` and `recurrent_bias`; · is a product by elements. */
typedef enum tenon_rnn_kind {
    /** h' = tanh(W x + R h + b) (J. Elman, "Finding structure in time", 1990) */
    TENON_RNN_TANH,
    /** h' = relu(W x + R h + b) */
    TENON_RNN_RELU,
    /** Four gates (S. Hochreiter and J. Schmidhuber, "Long short-term memory", 1997; forget gate:
     * F. Gers et al., 2000), with s the sigmoid:
     *
     *     i = s(Wi x + Ri h + pi · c + bi),  f = s(Wf x + Rf h + pf · c + bf)
     *     g = tanh(Wg x + Rg h + bg),        c' = f · c + i · g
     *     o = s(Wo x + Ro h + po · c' + bo), h' = o · tanh(c')
     *
     * pi, pf and po are the weights of `peephole` (F. Gers and J. Schmidhuber, "Recurrent nets that
     * time and count", 2000), 0 without them. With a `projection` P, h' = P (o · tanh(c'))
     * (H. Sak et al., "Long short-term memory based recurrent neural network architectures",
     * 2014). */
    TENON_RNN_LSTM,
    /** Three gates (K. Cho et al., "Learning phrase representations using RNN encoder-decoder",
     * 2014):
     *
     *     z = s(Wz x + Rz h + bz),  r = s(Wr x + Rr h + br),  h' = (1 - z) · n + z · h
     *     n = tanh(Wn x + Rn (r · h) + bn), or with TENON_RNN_RESET_AFTER
     *     n = tanh(Wn x + bias_n + r · (Rn h + recurrent_bias_n)) */
    TENON_RNN_GRU
} tenon_rnn_kind;

/** The directions of a layer. A layer in both directions has two sets of weights, and its outputs
 * of both directions are separate. */
typedef enum tenon_rnn_direction {
    TENON_RNN_FORWARD,      /**< from the first step to the last */
    TENON_RNN_REVERSE,      /**< from the last step to the first */
    TENON_RNN_BIDIRECTIONAL /**< 0: forward, 1: reverse */
} tenon_rnn_direction;

/** The order of the gates in the rows of `w`, `r` and the biases. */
typedef enum tenon_rnn_order {
    TENON_RNN_ORDER_IFGO, /**< LSTM: i f g o; GRU: r z n; peepholes: i f o (PyTorch) */
    TENON_RNN_ORDER_IOFC  /**< LSTM: i o f g; GRU: z r n; peepholes: i o f (ONNX) */
} tenon_rnn_order;

/** flag: a GRU multiplies by the reset gate after the product with Rn, instead of before. PyTorch
 * and cuDNN always do this; ONNX calls it linear_before_reset. */
#define TENON_RNN_RESET_AFTER 1u

/** Start from TENON_RNN_PARAMS_INIT: a forward LSTM with the gates i f g o and without clipping. */
typedef struct tenon_rnn_params {
    uint32_t struct_size; /**< sizeof(tenon_rnn_params) */
    uint32_t flags;       /**< 0 or TENON_RNN_RESET_AFTER (GRU only) */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_rnn_kind */
    uint32_t direction;   /**< tenon_rnn_direction */
    uint32_t order;       /**< tenon_rnn_order */
    uint32_t reserved;    /**< 0 */
    double clip; /**< at least 0: the arguments of all activations are limited to [-clip, clip]; 0:
                    they are not limited */
} tenon_rnn_params;

/** The defaults of tenon_rnn_params, without braces. */
#define TENON_RNN_PARAMS_DEFAULTS                                                                  \
    sizeof(tenon_rnn_params), 0, NULL, TENON_RNN_LSTM, TENON_RNN_FORWARD, TENON_RNN_ORDER_IFGO, 0, \
        0.0
/** Initializes a tenon_rnn_params with the defaults. */
#define TENON_RNN_PARAMS_INIT                                                                      \
    {                                                                                              \
        TENON_RNN_PARAMS_DEFAULTS                                                                  \
    }
#ifndef __cplusplus
/** A const tenon_rnn_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_rnn_params(...)                                                                      \
    TENON_LITERAL(tenon_rnn_params, TENON_RNN_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_rnn_params) */
TENON_API void tenon_rnn_params_default(tenon_rnn_params *params, uint32_t size);

/** Computes a recurrent layer over a sequence of T steps, for N sequences at once. With D the
 * number of directions, I the size of the input, H the hidden size, G the number of gates (1, 4 for
 * LSTM, 3 for GRU) and P the size of the output (H without a projection), the shapes are those of
 * ONNX. Any strides are allowed: a tensor with the batch first, or PyTorch's y of T x N x (D P), is
 * a view with permuted dimensions.
 *
 * Sequence n has lengths[n] steps; lengths outside [0, T] count as 0 or T. Steps beyond the length
 * do not change the states, and their outputs in y are 0. In reverse, a sequence begins with its
 * own last step. Several layers are several calls, each with the y of the one before as its x.
 *
 * States and sums are f32 for the 16-bit types (f64 for f64): only y, hn and cn are rounded to the
 * type. The products W x of all steps are one matrix product, which is stored in the workspace.
 *  @param params         NULL means the defaults
 *  @param x              T x N x I, f64, f32, f16 or bf16
 *  @param w              D x (G H) x I, of x's type, as all other operands that are not stated
 *  @param r              D x (G H) x P
 *  @param bias           D x (G H), or NULL
 *  @param recurrent_bias D x (G H), or NULL; added to bias, except where a GRU resets after the
 *                        product
 *  @param peephole       D x (3 H), or NULL; LSTM only
 *  @param projection     D x P x H, or NULL; LSTM only
 *  @param lengths        i32, N, or NULL: all are T
 *  @param h0             D x N x P, the hidden state before the first step; NULL: zeros
 *  @param c0             D x N x H, the cell's state before the first step; NULL: zeros; LSTM only
 *  @param y              T x D x N x P, the hidden state after each step
 *  @param hn             D x N x P, the hidden state after the last step; or NULL
 *  @param cn             D x N x H, the cell's state after the last step; or NULL; LSTM only
 *  @param reserve        values of the steps for the gradient, or NULL: D x T x N x (S H), dense,
 * of the type of the sums. S is 5 for LSTM (i, f, g, o, c'), 4 for a GRU that resets after the
 * product (z, r, n and Rn h + recurrent_bias_n), 3 for other GRUs (z, r, n), and 1 for RNNs (h').
 * Steps beyond a sequence's length are 0.
 *  @param sync           may be NULL
 *  No output may overlap another operand.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_rnn_forward(
    tenon_stream *stream, const tenon_rnn_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *r, const tenon_tensor *bias,
    const tenon_tensor *recurrent_bias, const tenon_tensor *peephole,
    const tenon_tensor *projection, const tenon_tensor *lengths, const tenon_tensor *h0,
    const tenon_tensor *c0, const tenon_tensor *y, const tenon_tensor *hn, const tenon_tensor *cn,
    const tenon_tensor *reserve, const tenon_sync *sync);

/** Makes a plan of tenon_rnn_forward with operands x, w, r, bias, recurrent_bias, peephole,
 * projection, lengths, h0, c0, y, hn, cn, reserve. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_rnn_forward_plan(
    tenon_context *context, const tenon_rnn_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *r, const tenon_tensor *bias,
    const tenon_tensor *recurrent_bias, const tenon_tensor *peephole,
    const tenon_tensor *projection, const tenon_tensor *lengths, const tenon_tensor *h0,
    const tenon_tensor *c0, const tenon_tensor *y, const tenon_tensor *hn, const tenon_tensor *cn,
    const tenon_tensor *reserve, tenon_plan **plan);

/** Computes the gradients of a layer with respect to its input and initial states, and those of the
 * arguments of its gates. The sizes are those of tenon_rnn_forward, which must have stored
 * `reserve`.
 *
 * tenon_rnn_backward_weights computes the gradients of the weights from `dgates`.
 *
 * The gradient of a step beyond a sequence's length is 0, and passes to the step before it.
 *  @param params     as for the forward call, with a clip of 0; NULL means the defaults
 *  @param w, r, peephole, projection, lengths, h0, c0, y, reserve
 *                    as for the forward call; y and reserve are its results
 *  @param dy         the gradient of y, or NULL: zeros
 *  @param dhn, dcn   the gradients of hn and cn, or NULL: zeros
 *  @param dx         T x N x I, the gradient of x; or NULL
 *  @param dh0, dc0   of the shapes of h0 and c0, their gradients; or NULL
 *  @param dgates     D x T x N x C, dense, of the type of the sums: the gradients of the arguments
 * of the gates, each of size H, in the order of w. C is G H. A GRU that resets after the product
 * has H more columns before these, the gradient of Rn h; a layer with a projection has P more after
 * these, the gradient of its output.
 *  @param sync       may be NULL
 *  No output may overlap another operand.
 *  @return as tenon_rnn_forward */
TENON_CALL tenon_status tenon_rnn_backward_data(
    tenon_stream *stream, const tenon_rnn_params *params, const tenon_tensor *w,
    const tenon_tensor *r, const tenon_tensor *peephole, const tenon_tensor *projection,
    const tenon_tensor *lengths, const tenon_tensor *h0, const tenon_tensor *c0,
    const tenon_tensor *y, const tenon_tensor *reserve, const tenon_tensor *dy,
    const tenon_tensor *dhn, const tenon_tensor *dcn, const tenon_tensor *dx,
    const tenon_tensor *dh0, const tenon_tensor *dc0, const tenon_tensor *dgates,
    const tenon_sync *sync);

/** Makes a plan of tenon_rnn_backward_data with operands w, r, peephole, projection, lengths, h0,
 * c0, y, reserve, dy, dhn, dcn, dx, dh0, dc0, dgates. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_rnn_backward_data_plan(
    tenon_context *context, const tenon_rnn_params *params, const tenon_tensor *w,
    const tenon_tensor *r, const tenon_tensor *peephole, const tenon_tensor *projection,
    const tenon_tensor *lengths, const tenon_tensor *h0, const tenon_tensor *c0,
    const tenon_tensor *y, const tenon_tensor *reserve, const tenon_tensor *dy,
    const tenon_tensor *dhn, const tenon_tensor *dcn, const tenon_tensor *dx,
    const tenon_tensor *dh0, const tenon_tensor *dc0, const tenon_tensor *dgates,
    tenon_plan **plan);

/** Computes the gradients of a layer with respect to its weights, from the results of
 * tenon_rnn_forward and tenon_rnn_backward_data with the same parameters.
 *
 * All are sums over the steps and sequences (P. Werbos, "Backpropagation through time: what it does
 * and how to do it", 1990). For a direction, that of w is the product of the transposed dgates with
 * x; that of r the same with h before each step; those of the biases are sums of the columns. In a
 * GRU the rows of n of r have r · h in place of h, or, if it resets after the product, the gradient
 * of Rn h in place of that of n. The gradient of a projection is the product of the last P columns
 * of dgates with o · tanh(c'), and that of a peephole the sum of its gate's column times c, for o
 * times c'.
 *
 * Steps beyond a sequence's length do not contribute: x, y and reserve are not read there, and
 * dgates must be finite. The order of summation is fixed.
 *  @param params   as for the forward call, with a clip of 0; NULL means the defaults
 *  @param x, lengths, h0, c0, y, reserve
 *                  as for the forward call; y and reserve are its results
 *  @param dgates   the result of tenon_rnn_backward_data
 *  @param dw, dr, dbias, drecurrent_bias, dpeephole, dprojection
 *                  of the shapes of w, r, bias, recurrent_bias, peephole and projection, and of x's
 * type: their gradients; or NULL. A layer without one of the biases may compute its gradient.
 * dpeephole and dprojection: LSTM only; dprojection: only if the layer has a projection
 *  @param sync     may be NULL
 *  No output may overlap another operand.
 *  @return as tenon_rnn_forward */
TENON_CALL tenon_status tenon_rnn_backward_weights(
    tenon_stream *stream, const tenon_rnn_params *params, const tenon_tensor *x,
    const tenon_tensor *lengths, const tenon_tensor *h0, const tenon_tensor *c0,
    const tenon_tensor *y, const tenon_tensor *reserve, const tenon_tensor *dgates,
    const tenon_tensor *dw, const tenon_tensor *dr, const tenon_tensor *dbias,
    const tenon_tensor *drecurrent_bias, const tenon_tensor *dpeephole,
    const tenon_tensor *dprojection, const tenon_sync *sync);

/** Makes a plan of tenon_rnn_backward_weights with operands x, lengths, h0, c0, y, reserve, dgates,
 * dw, dr, dbias, drecurrent_bias, dpeephole, dprojection. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_rnn_backward_weights_plan(
    tenon_context *context, const tenon_rnn_params *params, const tenon_tensor *x,
    const tenon_tensor *lengths, const tenon_tensor *h0, const tenon_tensor *c0,
    const tenon_tensor *y, const tenon_tensor *reserve, const tenon_tensor *dgates,
    const tenon_tensor *dw, const tenon_tensor *dr, const tenon_tensor *dbias,
    const tenon_tensor *drecurrent_bias, const tenon_tensor *dpeephole,
    const tenon_tensor *dprojection, tenon_plan **plan);

TENON_END_C

#endif
