/* Trains two layers whose weights are divided among several devices: the columns of the first
 * product and the rows of the second (Megatron-LM). A step needs one all-reduce, of the partial
 * sums of the result; each member has whole inputs.
 *
 * A sum within the second product is divided among the members, so its rounding differs from that
 * of one device. The first gradients are therefore compared for small whole numbers, whose sums
 * are exact in any order: they have the same bits. Then the layers are trained with real numbers.
 *
 *     cc tensor_parallel.c -o tensor_parallel -ltenon -lm && ./tensor_parallel
 *     mpicc -DWITH_MPI tensor_parallel.c -o tensor_parallel -ltenon -lm &&
 *         mpirun -n 4 ./tensor_parallel
 */
#include "members.h"
#include "network.h"

/* The hidden units are a multiple of 1 to 4 members. */
enum { INPUTS = 16, HIDDEN = 48, OUTPUTS = 4, ROWS = 32, STEPS = 150, PARAMETERS = 4 };
#define RATE 0.01

#define RELU &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU)

/* Weights and bias of both layers, for `hidden` units. */
enum { W1, B1, W2, B2 };

typedef struct member {
    tenon_stream *stream;
    int64_t first, hidden; /* the hidden units of this member */
    tenon_tensor values[PARAMETERS], gradients[PARAMETERS], firsts[PARAMETERS], seconds[PARAMETERS];
    tenon_tensor x, h, dh, y, target, teacher;
} member;

static member member_open(tenon_stream *stream, int64_t first, int64_t hidden)
{
    member m = {.stream = stream, .first = first, .hidden = hidden};
    const tenon_tensor views[PARAMETERS] = {
        tenon_tensor_view(TENON_DTYPE_F32, 2, (int64_t[]){INPUTS, hidden}),
        tenon_tensor_view(TENON_DTYPE_F32, 1, (int64_t[]){hidden}),
        tenon_tensor_view(TENON_DTYPE_F32, 2, (int64_t[]){hidden, OUTPUTS}),
        tenon_tensor_view(TENON_DTYPE_F32, 1, (int64_t[]){OUTPUTS})};
    for (int i = 0; i < PARAMETERS; i++) {
        m.values[i] = network_tensor(stream, &views[i]);
        m.gradients[i] = network_tensor(stream, &views[i]);
        m.firsts[i] = network_tensor(stream, &views[i]);
        m.seconds[i] = network_tensor(stream, &views[i]);
    }
    m.x = network_matrix(stream, ROWS, INPUTS);
    m.h = network_matrix(stream, ROWS, hidden);
    m.dh = network_matrix(stream, ROWS, hidden);
    m.y = network_matrix(stream, ROWS, OUTPUTS);
    m.target = network_matrix(stream, ROWS, OUTPUTS);
    m.teacher = network_matrix(stream, INPUTS, OUTPUTS);
    return m;
}

static void member_close(member *m)
{
    tenon_tensor *const others[] = {&m->x, &m->h, &m->dh, &m->y, &m->target, &m->teacher};
    for (int i = 0; i < PARAMETERS; i++) {
        tenon_tensor_destroy(&m->values[i]);
        tenon_tensor_destroy(&m->gradients[i]);
        tenon_tensor_destroy(&m->firsts[i]);
        tenon_tensor_destroy(&m->seconds[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tenon_tensor_destroy(others[i]);
}

/* Draws a matrix of the whole layer and copies the member's part of dimension `dim` (2: all of it).
 * `deviation` of normal numbers; 0: the whole numbers -1, 0 and 1. */
static void draw(member *m, uint64_t seed, double deviation, uint32_t dim, const tenon_tensor *part)
{
    int64_t shape[2] = {part->shape[0], part->shape[1]};
    if (dim < 2)
        shape[dim] = HIDDEN;
    tenon_tensor whole = network_matrix(m->stream, shape[0], shape[1]), own = whole;
    if (deviation > 0)
        network_normal(m->stream, &whole, seed, 0, deviation);
    else
        TRY(tenon_random(
            m->stream,
            &tenon_random_params(.kind = TENON_RANDOM_UNIFORM, .seed = seed, .low = -1, .high = 2),
            &whole, NULL));
    if (deviation == 0)
        TRY(tenon_function(m->stream, &tenon_function_params(.kind = TENON_FUNCTION_FLOOR), &whole,
                           &whole, NULL));
    if (dim < 2)
        own = tenon_tensor_slice(whole, dim, m->first, m->hidden);
    TRY(tenon_copy(m->stream, NULL, &own, part, NULL));
    tenon_tensor_destroy(&whole);
}

/* Draws weights; both biases are 0. */
static void initialize(member *m, bool is_whole)
{
    draw(m, 1, is_whole ? 0 : sqrt(2. / INPUTS), 1, &m->values[W1]);
    draw(m, 2, is_whole ? 0 : sqrt(2. / HIDDEN), 0, &m->values[W2]);
    draw(m, 3, is_whole ? 0 : 1, 2, &m->teacher);
}

/* The forward pass: a member's part of the hidden units, and its part of the sums of the result. */
static void forward(member *m, uint64_t step, bool is_whole)
{
    tenon_gemm_params relu = TENON_GEMM_PARAMS_INIT;
    relu.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    draw(m, 100 + step, is_whole ? 0 : 1, 2, &m->x);
    TRY(tenon_gemm(m->stream, NULL, &m->x, &m->teacher, NULL, NULL, &m->target, NULL));
    TRY(tenon_gemm(m->stream, &relu, &m->x, &m->values[W1], NULL, &m->values[B1], &m->h, NULL));
    TRY(tenon_gemm(m->stream, NULL, &m->h, &m->values[W2], NULL, NULL, &m->y, NULL));
}

/* The backward pass from the sums of y on, which all members have. Returns the loss if asked. */
static float backward(member *m, bool reads)
{
    const tenon_mse_params loss = tenon_mse_params(.flags = 0, .scale = 0.5);
    const tenon_reduce_params rows =
        tenon_reduce_params(.kind = TENON_REDUCE_SUM, .axis_count = 1, .axes = {0});
    const tenon_tensor bias = tenon_tensor_broadcast(m->values[B2], 2, (int64_t[]){ROWS, OUTPUTS});
    const tenon_tensor x_t = tenon_tensor_transpose(m->x, 0, 1),
                       h_t = tenon_tensor_transpose(m->h, 0, 1),
                       w2_t = tenon_tensor_transpose(m->values[W2], 0, 1);
    float error = 0;
    TRY(tenon_elementwise(m->stream, NULL, &m->y, &bias, &m->y, NULL));
    if (reads) {
        tenon_tensor sum;
        TRY(tenon_tensor_create(tenon_stream_context(m->stream), TENON_DTYPE_F32, 0, NULL, &sum));
        TRY(tenon_mse_forward(m->stream, &loss, &m->y, &m->target, &sum, NULL));
        TRY(tenon_tensor_download(m->stream, &sum, &error, sizeof error, NULL));
        tenon_tensor_destroy(&sum);
    }
    TRY(tenon_mse_backward(m->stream, &loss, &m->y, &m->target, NULL, &m->y, NULL));
    TRY(tenon_gemm(m->stream, NULL, &h_t, &m->y, NULL, NULL, &m->gradients[W2], NULL));
    TRY(tenon_reduce(m->stream, &rows, &m->y, &m->gradients[B2], NULL));
    TRY(tenon_gemm(m->stream, NULL, &m->y, &w2_t, NULL, NULL, &m->dh, NULL));
    TRY(tenon_activation_backward(m->stream, RELU, &m->h, &m->dh, &m->dh, NULL));
    TRY(tenon_gemm(m->stream, NULL, &x_t, &m->dh, NULL, NULL, &m->gradients[W1], NULL));
    TRY(tenon_reduce(m->stream, &rows, &m->dh, &m->gradients[B1], NULL));
    return error;
}

/* Computes the gradients of a step on all members. Returns the loss if asked. */
static float compute(const members *all, member *own, uint64_t step, bool is_whole, bool reads)
{
    tenon_tensor y[MOST_MEMBERS];
    float error = 0;
    for (uint32_t m = 0; m < all->local; m++) {
        forward(&own[m], step, is_whole);
        y[m] = own[m].y;
    }
    TRY(tenon_group_all_reduce(all->group, TENON_GROUP_SUM, y, y, NULL));
    if (reads)
        TRY(tenon_group_wait(all->group));
    for (uint32_t m = 0; m < all->local; m++)
        error = backward(&own[m], reads);
    return error;
}

static void update(member *m, uint64_t step)
{
    for (int i = 0; i < PARAMETERS; i++)
        TRY(tenon_adam(m->stream, &tenon_adam_params(.learning_rate = RATE, .step = step),
                       &m->gradients[i], &m->values[i], &m->firsts[i], &m->seconds[i], NULL, NULL));
}

/* Returns the number of elements of a member's gradients that differ from those of one device. */
static int64_t differences(member *m, member *one)
{
    static float ours[HIDDEN * HIDDEN], theirs[HIDDEN * HIDDEN];
    int64_t different = 0;
    for (int i = 0; i < PARAMETERS; i++) {
        tenon_tensor expected = one->gradients[i];
        if (i != B2)
            expected = tenon_tensor_slice(expected, i == W1 ? 1 : 0, m->first, m->hidden);
        const int64_t elements = tenon_tensor_elements(&expected);
        const size_t bytes = (size_t)elements * sizeof(float);
        TRY(tenon_tensor_download(m->stream, &m->gradients[i], ours, bytes, NULL));
        TRY(tenon_tensor_download(one->stream, &expected, theirs, bytes, NULL));
        for (int64_t e = 0; e < elements; e++)
            different += ours[e] != theirs[e];
    }
    return different;
}

/* Compares the gradients of whole numbers with those of one device. */
static int compare(const members *all, member *own)
{
    int64_t different = 0;
    tenon_stream *stream;
    TRY(tenon_stream_create(all->alone, NULL, &stream));
    member one = member_open(stream, 0, HIDDEN);
    initialize(&one, true);
    forward(&one, 0, true);
    backward(&one, false);
    for (uint32_t m = 0; m < all->local; m++)
        initialize(&own[m], true);
    compute(all, own, 0, true, false);
    TRY(tenon_group_wait(all->group));
    for (uint32_t m = 0; m < all->local; m++)
        different += differences(&own[m], &one);
    printf("%u members: %lld gradients of whole numbers differ from one device\n",
           (unsigned)all->size, (long long)different);
    member_close(&one);
    tenon_stream_destroy(stream);
    return different != 0;
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, 2, false);
    const int64_t hidden = HIDDEN / all.size;
    member own[MOST_MEMBERS];
    if (HIDDEN % all.size != 0) {
        fprintf(stderr, "tensor_parallel: %d hidden units cannot be divided\n", HIDDEN);
        return 2;
    }
    for (uint32_t m = 0; m < all.local; m++)
        own[m] = member_open(all.streams[m], (int64_t)(all.first + m) * hidden, hidden);
    int failed = compare(&all, own);
    float first = 0, last = 0;
    for (uint32_t m = 0; m < all.local; m++)
        initialize(&own[m], false);
    for (uint64_t step = 1; step <= STEPS; step++) {
        const float error = compute(&all, own, step, false, step == 1 || step == STEPS);
        first = step == 1 ? error : first;
        last = error;
        for (uint32_t m = 0; m < all.local; m++)
            update(&own[m], step);
    }
    printf("error %.3g, at first %.3g\n", (double)last, (double)first);
    failed |= !(last < first / 10);
    TRY(tenon_group_wait(all.group));
    for (uint32_t m = 0; m < all.local; m++)
        member_close(&own[m]);
    members_close(&all);
    return failed;
}
