/* A mixture of experts that learns a linear function of random inputs: what a device computes of a
 * training step. Used by expert_parallel.c, which moves the rows between devices. */
#ifndef EXAMPLES_EXPERTS_H
#define EXAMPLES_EXPERTS_H

#include "network.h"

/* The experts are a multiple of 1 to 4 members. Inputs and results of the layer have WIDTH columns.
 */
enum { WIDTH = 16, HIDDEN = 32, EXPERTS = 12, CHOSEN = 2, ROWS = 32, STEPS = 90 };
#define RATE 0.01

enum { GATE, FIRST, SECOND, WEIGHTS }; /* of the gate, and of the experts' two layers */
enum { MOST_TENSORS = 48 };

/* A device: its experts, its copy of the gate, and its parts of a batch, which follow each other in
 * the tensors. */
typedef struct expert_member {
    tenon_stream *stream;
    uint32_t first, parts, all_parts; /* the batch has `all_parts` parts */
    tenon_tensor values[WEIGHTS], gradients[WEIGHTS], firsts[WEIGHTS], seconds[WEIGHTS];
    tenon_tensor teacher, dgate; /* dgate: of one part */
    tenon_tensor x, target, logits, best, experts, shares, y, dy, dshares;
    tenon_tensor rows, results, products; /* for each row and each of its experts */
    tenon_tensor sent, h, z, d, dh;       /* for the own experts: the rows of all members */
    tenon_tensor x_blocks, h_blocks, d_blocks, dh_blocks;
    tenon_tensor made[MOST_TENSORS]; /* all of these */
    int count;
} expert_member;

static inline tenon_tensor experts_tensor(expert_member *m, tenon_dtype dtype, int64_t a, int64_t b,
                                          int64_t c)
{
    const int64_t shape[] = {a, b, c};
    tenon_tensor *made = &m->made[m->count++];
    TRY(tenon_tensor_create(tenon_stream_context(m->stream), dtype, c > 0 ? 3 : 2, shape, made));
    TRY(tenon_tensor_fill(m->stream, made, 0, NULL));
    return *made;
}

static inline tenon_tensor experts_matrix(expert_member *m, int64_t rows, int64_t columns)
{
    return experts_tensor(m, TENON_DTYPE_F32, rows, columns, 0);
}

/* Makes the initial weights: a part, along the first dimension, of random ones. */
static inline void experts_initial(expert_member *m, int number, int64_t all, int64_t first)
{
    const tenon_tensor *part = &m->values[number];
    tenon_tensor view = *part, whole;
    view.shape[0] = all;
    whole = network_tensor(m->stream, &view);
    network_normal(m->stream, &whole, 1, (uint64_t)number,
                   sqrt(2. / (double)part->shape[part->rank - 2]));
    view = tenon_tensor_slice(whole, 0, first, part->shape[0]);
    TRY(tenon_copy(m->stream, NULL, &view, part, NULL));
    tenon_tensor_destroy(&whole);
}

/* Opens the member with the experts and the parts of a batch of number `rank` of `size`. One device
 * alone has all of them. */
static inline void experts_open(expert_member *m, tenon_stream *stream, uint32_t rank,
                                uint32_t size, bool is_alone)
{
    const int64_t parts = is_alone ? size : 1, own = is_alone ? EXPERTS : EXPERTS / size;
    const int64_t n = parts * ROWS, slots = n * CHOSEN, all = (int64_t)size * ROWS * CHOSEN;
    *m = (expert_member){
        .stream = stream, .first = rank, .parts = (uint32_t)parts, .all_parts = size};
    tenon_tensor *const sets[] = {m->values, m->gradients, m->firsts, m->seconds};
    for (int i = 0; i < 4; i++) {
        sets[i][GATE] = experts_matrix(m, WIDTH, EXPERTS);
        sets[i][FIRST] = experts_tensor(m, TENON_DTYPE_F32, own, WIDTH, HIDDEN);
        sets[i][SECOND] = experts_tensor(m, TENON_DTYPE_F32, own, HIDDEN, WIDTH);
    }
    experts_initial(m, GATE, WIDTH, 0);
    experts_initial(m, FIRST, EXPERTS, rank * own);
    experts_initial(m, SECOND, EXPERTS, rank * own);
    m->teacher = experts_matrix(m, WIDTH, WIDTH), m->dgate = experts_matrix(m, WIDTH, EXPERTS);
    network_normal(stream, &m->teacher, 3, 0, 1);
    m->x = experts_matrix(m, n, WIDTH), m->target = experts_matrix(m, n, WIDTH);
    m->logits = experts_matrix(m, n, EXPERTS), m->best = experts_matrix(m, n, CHOSEN);
    m->experts = experts_tensor(m, TENON_DTYPE_I32, n, CHOSEN, 0);
    m->shares = experts_matrix(m, n, CHOSEN), m->dshares = experts_matrix(m, n, CHOSEN);
    m->y = experts_matrix(m, n, WIDTH), m->dy = experts_matrix(m, n, WIDTH);
    m->rows = experts_matrix(m, slots, WIDTH);
    m->results = experts_matrix(m, slots, WIDTH), m->products = experts_matrix(m, slots, WIDTH);
    m->sent = experts_matrix(m, all, WIDTH), m->h = experts_matrix(m, all, HIDDEN);
    m->dh = experts_matrix(m, all, HIDDEN), m->z = experts_matrix(m, all, WIDTH);
    m->d = experts_matrix(m, all, WIDTH);
    m->x_blocks = experts_tensor(m, TENON_DTYPE_F32, own, all, WIDTH);
    m->h_blocks = experts_tensor(m, TENON_DTYPE_F32, own, all, HIDDEN);
    m->d_blocks = experts_tensor(m, TENON_DTYPE_F32, own, all, WIDTH);
    m->dh_blocks = experts_tensor(m, TENON_DTYPE_F32, own, all, HIDDEN);
}

static inline void experts_close(expert_member *m)
{
    while (m->count > 0)
        tenon_tensor_destroy(&m->made[--m->count]);
}

/* Returns the rows of a part of the batch. */
static inline tenon_tensor experts_part(const tenon_tensor *tensor, uint32_t part)
{
    return tenon_tensor_slice(*tensor, 0, (int64_t)part * ROWS, ROWS);
}

/* Returns the results of a part, or products of them, as rows × chosen experts × columns. */
static inline tenon_tensor experts_results(const tenon_tensor *tensor, uint32_t part)
{
    const int64_t shape[] = {tensor->shape[0] / CHOSEN, CHOSEN, WIDTH};
    tenon_tensor view;
    TRY(tenon_tensor_reshape(tensor, 3, shape, &view));
    return experts_part(&view, part);
}

/* Returns a matrix with a dimension of size 1 at `dim`, repeated like the results of a part. */
static inline tenon_tensor experts_repeated(tenon_tensor matrix, uint32_t dim)
{
    const int64_t shape[] = {ROWS, CHOSEN, WIDTH};
    return tenon_tensor_broadcast(tenon_tensor_unsqueeze(matrix, dim), 3, shape);
}

/* Draws a part of the batch. The gate chooses its experts and their shares. */
static inline void experts_choose(expert_member *m, uint64_t step, uint32_t part)
{
    const tenon_tensor x = experts_part(&m->x, part), target = experts_part(&m->target, part),
                       logits = experts_part(&m->logits, part), best = experts_part(&m->best, part),
                       experts = experts_part(&m->experts, part),
                       shares = experts_part(&m->shares, part), twice = experts_repeated(x, 1);
    const int64_t shape[] = {(int64_t)m->parts * ROWS, CHOSEN, WIDTH};
    tenon_tensor rows;
    TRY(tenon_tensor_reshape(&m->rows, 3, shape, &rows));
    rows = experts_part(&rows, part);
    network_normal(m->stream, &x, 2, step * m->all_parts + m->first + part, 1);
    TRY(tenon_gemm(m->stream, NULL, &x, &m->teacher, NULL, NULL, &target, NULL));
    TRY(tenon_gemm(m->stream, NULL, &x, &m->values[GATE], NULL, NULL, &logits, NULL));
    TRY(tenon_top_k(m->stream, NULL, &logits, &best, &experts, NULL));
    TRY(tenon_softmax_forward(m->stream, NULL, &best, &shares, NULL));
    TRY(tenon_copy(m->stream, NULL, &twice, &rows, NULL));
}

/* Computes the result of a part, and the gradients of the experts' results and of the gate. */
static inline void experts_weigh(expert_member *m, uint32_t part)
{
    tenon_stream *s = m->stream;
    const tenon_elementwise_params multiply =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_MULTIPLY);
    const tenon_scatter_params elements =
        tenon_scatter_params(.mode = TENON_INDEX_ELEMENTS, .axis = 1);
    const tenon_tensor results = experts_results(&m->results, part),
                       products = experts_results(&m->products, part),
                       y = experts_part(&m->y, part), dy = experts_part(&m->dy, part),
                       target = experts_part(&m->target, part),
                       shares = experts_part(&m->shares, part), best = experts_part(&m->best, part),
                       dshares = experts_part(&m->dshares, part),
                       experts = experts_part(&m->experts, part),
                       dlogits = experts_part(&m->logits, part),
                       x_t = tenon_tensor_transpose(experts_part(&m->x, part), 0, 1),
                       each_share = experts_repeated(shares, 2), each_dy = experts_repeated(dy, 1);
    TRY(tenon_elementwise(s, &multiply, &results, &each_share, &products, NULL));
    TRY(tenon_reduce(s, &tenon_reduce_params(.axis_count = 1, .axes = {1}), &products, &y, NULL));
    TRY(tenon_mse_backward(s, &tenon_mse_params(.scale = 0.5 / m->all_parts), &y, &target, NULL,
                           &dy, NULL));
    TRY(tenon_elementwise(s, &multiply, &results, &each_dy, &products, NULL));
    TRY(tenon_reduce(s, &tenon_reduce_params(.axis_count = 1, .axes = {2}), &products, &dshares,
                     NULL));
    TRY(tenon_elementwise(s, &multiply, &each_dy, &each_share, &results, NULL));
    TRY(tenon_softmax_backward(s, NULL, &shares, &dshares, &best, NULL));
    TRY(tenon_tensor_fill(s, &dlogits, 0, NULL));
    TRY(tenon_scatter(s, &elements, &best, &experts, &dlogits, NULL));
    TRY(tenon_gemm(s, NULL, &x_t, &dlogits, NULL, NULL, part == 0 ? &m->gradients[GATE] : &m->dgate,
                   NULL));
    if (part > 0)
        TRY(tenon_elementwise(s, NULL, &m->gradients[GATE], &m->dgate, &m->gradients[GATE], NULL));
}

/* The experts compute their results of the rows that have arrived. */
static inline void experts_forward(expert_member *m, const tenon_tensor *offsets)
{
    tenon_gemm_ragged_params relu = TENON_GEMM_RAGGED_PARAMS_INIT;
    relu.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    TRY(tenon_gemm_ragged(m->stream, &relu, &m->sent, &m->values[FIRST], offsets, NULL, NULL, &m->h,
                          NULL));
    TRY(tenon_gemm_ragged(m->stream, NULL, &m->h, &m->values[SECOND], offsets, NULL, NULL, &m->z,
                          NULL));
}

/* Computes the gradient of the hidden values from those of the results. */
static inline void experts_backward(expert_member *m, const tenon_tensor *offsets)
{
    const tenon_tensor w_t = tenon_tensor_transpose(m->values[SECOND], 1, 2);
    TRY(tenon_gemm_ragged(m->stream, NULL, &m->d, &w_t, offsets, NULL, NULL, &m->dh, NULL));
    TRY(tenon_activation_backward(
        m->stream, &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU), &m->h,
        &m->dh, &m->dh, NULL));
}

static inline void experts_update(expert_member *m, uint64_t step)
{
    const tenon_tensor x_t = tenon_tensor_transpose(m->x_blocks, 1, 2),
                       h_t = tenon_tensor_transpose(m->h_blocks, 1, 2);
    TRY(tenon_gemm(m->stream, NULL, &x_t, &m->dh_blocks, NULL, NULL, &m->gradients[FIRST], NULL));
    TRY(tenon_gemm(m->stream, NULL, &h_t, &m->d_blocks, NULL, NULL, &m->gradients[SECOND], NULL));
    for (int i = 0; i < WEIGHTS; i++)
        TRY(tenon_adam(m->stream, &tenon_adam_params(.learning_rate = RATE, .step = step),
                       &m->gradients[i], &m->values[i], &m->firsts[i], &m->seconds[i], NULL, NULL));
}

#endif
