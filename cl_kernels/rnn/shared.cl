/*
 * All steps of a recurrent layer on a CPU, in one launch of a few work-groups. Each computes its
 * share of the units of every step, and needs the results of the others for the next one.
 *
 * OpenCL does not promise that work-groups run at the same time, so no work-group depends on
 * another one. A counter per work-group says of how many products its share is done. A work-group
 * reads the counter of another one at most args.patience times; then it computes that share itself.
 * It does not wait at all for one that has not begun or is behind. This is right at any time, even
 * if both compute the share: the workspace keeps the values of every step, so a product reads only
 * values that do not change any more, and both store the same bits. A work-group that finds others
 * ahead continues where they are. So each work-group ends, whatever the others do, and when the
 * first one ends, all results are stored.
 *
 * Products are numbered step by step: one per step, two if the cell has a second one.
 *
 * Global size: {args.shares}, local size {1}. Macros: see rnn/rnn.clh.
 */
#define RNN_KEEPS_STEPS 1
#include "rnn/forward.clh"

/* Reads and writes of a counter, before or after which all other ones take place. OpenCL C 1.2 has
 * none; the compilers of CPU drivers are derived from Clang. */
#if defined(__clang__)
#define RNN_READ(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define RNN_WRITE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#else
#define RNN_READ(p)     atomic_add(p, 0)
#define RNN_WRITE(p, v) (mem_fence(CLK_GLOBAL_MEM_FENCE), (void)atomic_xchg(p, v))
#endif

TENON_INLINE __global int *progress_of(const rnn_args *args, const rnn_tensors *t, long share)
{
    return (__global int *)(t->work + args->progress + share * RNN_PROGRESS);
}

/* Returns true if the layer has a second product in each step. */
TENON_INLINE int has_second(const rnn_args *args)
{
    return RNN_CELL == RNN_CELL_GRU || (args->flags & RNN_HAS_PROJECTION) != 0;
}

/* Computes a work-group's share of a product: some panels of args.rows_each sequences. */
TENON_INLINE void compute_share(const rnn_args *args, const rnn_tensors *t, long product,
                                long share)
{
    const int is_second = has_second(args) && product % 2 == 1;
    const long step = has_second(args) ? product / 2 : product;
    const long units = is_second ? args->output : args->hidden;
    const long panels = (units + RNN_LANES - 1) / RNN_LANES;
    const long blocks = (args->batch + args->rows_each - 1) / args->rows_each;
    const long parts = directions_of(args) * panels * blocks;
    const long begin = share * parts / args->shares, end = (share + 1) * parts / args->shares;
    for (long j = begin; j < end; j++) {
        const long i = step % 2 == 0 ? j : begin + end - 1 - j;
        const long panel = i / blocks, n = i % blocks * args->rows_each;
        const long last = min((long)args->batch, n + (long)args->rows_each);
        const rnn_place p = place_of(args, (int)(panel / panels), step, panel % panels * RNN_LANES);
        if (!is_second) {
            first_product(args, t, &p, n, last);
        }
#if RNN_SECOND
        if (is_second) {
            second_product(args, t, &p, n, last);
        }
#endif
    }
}

/* Returns the products of which a share is done, after a limited wait for `product` if the share's
 * work-group has come that far. */
TENON_INLINE int await_share(const rnn_args *args, const rnn_tensors *t, int product, long share)
{
    __global int *progress = progress_of(args, t, share);
    int done = RNN_READ(progress);
    for (long i = 0; i < args->patience && done == product; i++) {
        done = RNN_READ(progress);
    }
    return done;
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void shared(RNN_POINTERS,
                                                                               const rnn_args args)
{
    const rnn_tensors t = RNN_TENSORS(args);
    const long own = get_group_id(0);
    const int products = (int)args.steps * (has_second(&args) ? 2 : 1);
    /* All products before the last one that another work-group has begun are complete. */
    int product = 0;
    for (long share = 0; share < args.shares; share++) {
        product = max(product, RNN_READ(progress_of(&args, &t, share)) - 1);
    }
    while (product < products) {
        int furthest = product + 1;
        RNN_WRITE(progress_of(&args, &t, own), product);
        for (long i = 0; i < args.shares; i++) {
            const long share = own + i < args.shares ? own + i : own + i - args.shares;
            const int done = i == 0 ? product : await_share(&args, &t, product, share);
            if (done <= product) {
                compute_share(&args, &t, product, share);
            }
            if (i == 0) {
                RNN_WRITE(progress_of(&args, &t, own), product + 1);
            }
            furthest = max(furthest, done);
        }
        product = max(product + 1, furthest - 1);
    }
}
