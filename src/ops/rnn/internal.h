/* Internal interface of the family of recurrent layers. */
#ifndef TN_OPS_RNN_INTERNAL_H
#define TN_OPS_RNN_INTERNAL_H

#include "dispatch/operation.h"
#include "ops/gemm/internal.h"
#include "rnn/args.h"
#include "rnn/weights_args.h"

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

enum {
    RNN_DATA_W,
    RNN_DATA_R,
    RNN_DATA_PEEPHOLE,
    RNN_DATA_PROJECTION,
    RNN_DATA_LENGTHS,
    RNN_DATA_H0,
    RNN_DATA_C0,
    RNN_DATA_Y,
    RNN_DATA_RESERVE,
    RNN_DATA_DY,
    RNN_DATA_DHN,
    RNN_DATA_DCN,
    RNN_DATA_DX,
    RNN_DATA_DH0,
    RNN_DATA_DC0,
    RNN_DATA_DGATES,
    RNN_DATA_OPERANDS
};

enum {
    RNN_WEIGHTS_X,
    RNN_WEIGHTS_LENGTHS,
    RNN_WEIGHTS_H0,
    RNN_WEIGHTS_C0,
    RNN_WEIGHTS_Y,
    RNN_WEIGHTS_RESERVE,
    RNN_WEIGHTS_DGATES,
    RNN_WEIGHTS_DW,
    RNN_WEIGHTS_DR,
    RNN_WEIGHTS_DBIAS,
    RNN_WEIGHTS_DRECURRENT_BIAS,
    RNN_WEIGHTS_DPEEPHOLE,
    RNN_WEIGHTS_DPROJECTION,
    RNN_WEIGHTS_OPERANDS
};

/* The shapes of operands, named after the first one of each. */
typedef enum rnn_shape {
    RNN_SHAPE_X,
    RNN_SHAPE_W,
    RNN_SHAPE_R,
    RNN_SHAPE_BIAS,
    RNN_SHAPE_PEEPHOLE,
    RNN_SHAPE_PROJECTION,
    RNN_SHAPE_LENGTHS,
    RNN_SHAPE_H0,
    RNN_SHAPE_C0,
    RNN_SHAPE_Y,
    RNN_SHAPE_RESERVE,
    RNN_SHAPE_DGATES
} rnn_shape;

/* The shape of an operand, and its flag in a problem (RNN_HAS_*; 0 if it is required). */
typedef struct rnn_operand {
    rnn_shape shape;
    uint32_t flag;
} rnn_operand;

extern const rnn_operand tn_rnn_operands[RNN_OPERANDS], tn_rnn_data_operands[RNN_DATA_OPERANDS],
    tn_rnn_weights_operands[RNN_WEIGHTS_OPERANDS];

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
    uint32_t cell;     /* RNN_CELL_* */
    uint32_t flags;    /* RNN_* of rnn/args.h and rnn/weights_args.h */
    uint32_t order;    /* tenon_rnn_order */
    uint64_t backward; /* 0: the layer; 1: its gradient of the data; 2: that of the weights */
    rnn_sizes size;
    int64_t stride[TN_MAX_OPERANDS][RNN_RANK];
} rnn_problem;

/* Places in the workspace, in elements of the accumulator's type, as rnn/args.h lists them. */
typedef struct rnn_layout {
    int64_t x, w; /* copies of 16-bit operands in the accumulator's type */
    int64_t gates, panels, second, bias, peephole, state, cell, product, update, end;
    int64_t padded, padded_output, panel;
    int64_t gate_stride[3];
    int64_t sums;             /* of rnn/direct: products with h */
    int64_t progress, shares; /* of rnn/shared: its counters, and their number */
    int64_t dx;               /* sum of both directions, or the gradient of a 16-bit x */
    int64_t columns, first_depth, second_depth, second_column; /* of dgates */
    int64_t rows_each;
    bool widens;  /* x and w have 16 bits */
    bool swapped; /* the products of a sequence are contiguous, instead of those of a step */
} rnn_layout;

extern const tn_family tn_rnn_family, tn_rnn_backward_data_family, tn_rnn_backward_weights_family;
/* Solvers of the layer, the last two also of the gradient of its data; and that of the gradient of
 * its weights. */
extern const tn_solver tn_rnn_direct, tn_rnn_shared, tn_rnn_step, tn_rnn_sequence;
extern const tn_solver tn_rnn_backward_weights_products;

/* Returns the cell of a kind with these flags. */
uint32_t tn_rnn_cell(const tenon_rnn_params *params);

/* Return the sizes that the views of a call have. */
rnn_sizes tn_rnn_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views);
rnn_sizes tn_rnn_data_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views);
rnn_sizes tn_rnn_weights_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views);

/* Writes a shape and returns its rank. `projects`: the layer has a projection. */
uint32_t tn_rnn_shape(rnn_shape which, uint32_t cell, const rnn_sizes *sizes, bool projects,
                      int64_t shape[RNN_RANK]);

/* Returns the type of operands with this shape. */
tenon_dtype tn_rnn_dtype(rnn_shape which, tenon_dtype dtype);

/* Return the number of gate `gate` (i f g o, z r n) in the caller's order, and that of peephole
 * `gate` (i f o). */
int tn_rnn_gate(uint32_t cell, uint32_t order, int gate);
int tn_rnn_peephole(uint32_t order, int gate);

/* Returns true if each step has a second product. */
bool tn_rnn_has_second(const rnn_problem *problem);

/* Divides the workspace. `shares`: 0, or the work-groups that share each step, whose values are
 * then kept. */
void tn_rnn_lay_out(const tenon_context *context, const rnn_problem *problem, int64_t shares,
                    rnn_layout *layout);

/* Sets the arguments of the kernels of a step, except for those of each run. */
void tn_rnn_arguments(const rnn_problem *problem, const rnn_layout *layout, rnn_args *args);

/* Makes a product over all steps, a child in `frame`: W x of all directions, or the share of dx of
 * one direction. */
tenon_status tn_rnn_input_product(const char *caller, const rnn_problem *problem,
                                  const rnn_layout *layout, gemm_problem *product, tn_frame *frame);
tenon_status tn_rnn_dx_product(const char *caller, const rnn_problem *problem,
                               const rnn_layout *layout, int64_t direction, gemm_problem *product,
                               tn_frame *frame);

/* Record the launches before the first step, which copy weights and states to the workspace and
 * compute W x; and those after the last step, which compute dx. */
tenon_status tn_rnn_record_begin(const char *caller, tn_recording *recording,
                                 const rnn_problem *problem, const rnn_layout *layout);
tenon_status tn_rnn_record_end(const char *caller, tn_recording *recording,
                               const rnn_problem *problem, const rnn_layout *layout);

/* Returns a view without memory of rank 4. */
tenon_tensor tn_rnn_view4(tenon_dtype dtype, const int64_t shape[4], const int64_t stride[4]);

/* Completes a product whose workspace follows the first `used` bytes: its limit of workspace, and
 * its frame. */
void tn_rnn_finish_product(const rnn_problem *problem, uint64_t used, gemm_problem *product,
                           tn_frame *frame);

/* Records a copy of a tensor of rank 3 to the workspace, dense and in the accumulator's type; or
 * back, in the tensor's type. */
tenon_status tn_rnn_record_copy(const char *caller, tn_recording *recording,
                                const rnn_problem *problem, const char *kernel, uint16_t operand,
                                int64_t place, const int64_t shape[3]);

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_rnn_prepare, tn_rnn_backward_data_prepare, tn_rnn_backward_weights_prepare;
tn_reference_function tn_rnn_reference, tn_rnn_backward_data_reference,
    tn_rnn_backward_weights_reference;
tn_fill_function tn_rnn_fill_valid, tn_rnn_backward_data_fill_valid,
    tn_rnn_backward_weights_fill_valid;
tn_awkward_function tn_rnn_awkward;

#endif
