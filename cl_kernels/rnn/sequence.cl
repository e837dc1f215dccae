/*
 * All steps of a recurrent layer, or of its gradient, in one launch. A work-group computes
 * args.rows_each sequences, so that no step needs results of another work-group.
 *
 * Global size: {ceil(batch / rows_each) * RNN_GROUP, directions}, local size {RNN_GROUP, 1}.
 *
 * RNN_GROUP: work-items of a group; 1 on a CPU. RNN_BACKWARD: 1 for the gradient. Other macros: see
 * rnn/rnn.clh.
 */
#ifndef RNN_GROUP
#define RNN_GROUP 1
#endif
#include "rnn/rnn.clh"

#if defined(RNN_BACKWARD) && RNN_BACKWARD
#include "rnn/backward.clh"
#else
#include "rnn/forward.clh"
#endif

/* Waits until the group's results of a product are visible to all of its work-items. */
#if RNN_GROUP > 1
#define RNN_BARRIER barrier(CLK_GLOBAL_MEM_FENCE)
#else
#define RNN_BARRIER
#endif

#define EACH_UNIT(unit, units)                                                                     \
    for (long unit = get_local_id(0) * RNN_LANES; unit < (units); unit += RNN_GROUP * RNN_LANES)

TENON_KERNEL __attribute__((reqd_work_group_size(RNN_GROUP, 1, 1))) void
sequence(RNN_POINTERS, const rnn_args args)
{
    const rnn_tensors t = RNN_TENSORS(args);
    const long n = get_group_id(0) * args.rows_each, last = min(args.batch, n + args.rows_each);
    const int direction = get_group_id(1);
    for (long step = 0; step < RNN_STEPS(args); step++) {
        EACH_UNIT(unit, RNN_FIRST_UNITS(args))
        {
            const rnn_place p = place_of(&args, direction, step, unit);
            first_product(&args, &t, &p, n, last);
        }
        RNN_BARRIER;
#if RNN_SECOND
        const int is_needed = RNN_CELL == RNN_CELL_GRU || (args.flags & RNN_HAS_PROJECTION) != 0;
        if (is_needed && step < args.steps) {
            EACH_UNIT(unit, RNN_SECOND_UNITS(args))
            {
                const rnn_place p = place_of(&args, direction, step, unit);
                second_product(&args, &t, &p, n, last);
            }
            RNN_BARRIER;
        }
#endif
    }
}
