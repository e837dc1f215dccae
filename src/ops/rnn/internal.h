/* Internal interface of the family of recurrent layers. */
#ifndef TN_OPS_RNN_INTERNAL_H
#define TN_OPS_RNN_INTERNAL_H

#include "dispatch/operation.h"
#include "ops/gemm/internal.h"
#include "rnn/args.h"

#include <tenon/rnn.h>

enum {
    RNN_X,
    RNN_W,
    RNN_R,
    RNN_BIAS,
    RNN_RECURRENT_BIAS,
    RNN_PEEPHOLE,
    RNN_PROJECTION,
    RNN_LENGTHS,
    RNN_H0,
    RNN_C0,
    RNN_Y,
    RNN_HN,
    RNN_CN,
    RNN_RESERVE,
    RNN_OPERANDS
};

/* The maximum rank of an operand. */
#define RNN_RANK 4

enum { RNN_SCALAR_CLIP };

/* Sizes of a layer. */
typedef struct rnn_sizes {
    int64_t directions, steps, batch, inputs, hidden, output; /* D, T, N, I, H, P */
} rnn_sizes;

/* The canonical problem: the strides of all operands, 0 for those that are absent. */
typedef struct rnn_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t cell;  /* RNN_CELL_* */
    uint32_t flags; /* RNN_* of rnn/args.h */
    uint32_t order; /* tenon_rnn_order */
    rnn_sizes size;
    int64_t stride[RNN_OPERANDS][RNN_RANK];
} rnn_problem;

/* Places in the workspace, in elements of the accumulator's type, as rnn/args.h lists them. */
typedef struct rnn_layout {
    int64_t x, w; /* copies of 16-bit operands in the accumulator's type */
    int64_t gates, panels, second, bias, peephole, state, cell, product, update, end;
    int64_t padded, padded_output, panel;
    int64_t gate_stride[3];
    int64_t rows_each;
    bool widens;  /* x and w have 16 bits */
    bool swapped; /* the products of a sequence are contiguous, instead of those of a step */
} rnn_layout;

extern const tn_family tn_rnn_family;
extern const tn_solver tn_rnn_step, tn_rnn_sequence;

/* Returns the cell of a kind with these flags. */
uint32_t tn_rnn_cell(const tenon_rnn_params *params);

/* Returns the sizes that the views of a validated call have. */
rnn_sizes tn_rnn_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views);

/* Return the number of gate `gate` (i f g o, z r n) in the caller's order, and that of peephole
 * `gate` (i f o). */
int tn_rnn_gate(uint32_t cell, uint32_t order, int gate);
int tn_rnn_peephole(uint32_t order, int gate);

/* Returns true if each step has a second product. */
bool tn_rnn_has_second(const rnn_problem *problem);

/* Divides the workspace. */
void tn_rnn_lay_out(const tenon_context *context, const rnn_problem *problem, rnn_layout *layout);

/* Makes the product W x of all steps, a child in `frame`. */
tenon_status tn_rnn_input_product(const char *caller, const rnn_problem *problem,
                                  const rnn_layout *layout, gemm_problem *product, tn_frame *frame);

/* Records the launches before the first step: copies of weights and states to the workspace, and
 * the product W x. */
tenon_status tn_rnn_record_begin(const char *caller, tn_recording *recording,
                                 const rnn_problem *problem, const rnn_layout *layout);

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_rnn_prepare;
tn_reference_function tn_rnn_reference;
tn_fill_function tn_rnn_fill_valid;
tn_awkward_function tn_rnn_awkward;

#endif
