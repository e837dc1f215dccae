/*
 * One step of a recurrent layer, or of its gradient. A work-item computes a panel of units (on a
 * GPU one unit) of args.rows_each sequences.
 *
 * Global size: {panels, or on a GPU units rounded up; ceil(batch / rows_each); directions}.
 *
 * RNN_BACKWARD: 1 for the gradient. Other macros: see rnn/rnn.clh.
 */
#include "rnn/rnn.clh"

#if defined(RNN_BACKWARD) && RNN_BACKWARD
#include "rnn/backward.clh"
#else
#include "rnn/forward.clh"
#endif

#define UNIT (get_global_id(0) * RNN_LANES)

/* The first product of a step. */
TENON_KERNEL void first(RNN_POINTERS, const rnn_args args)
{
    const rnn_tensors t = RNN_TENSORS(args);
    const long n = get_global_id(1) * args.rows_each;
    const rnn_place p = place_of(&args, get_global_id(2), args.step, UNIT);
    if (p.unit < RNN_FIRST_UNITS(args)) {
        first_product(&args, &t, &p, n, min(args.batch, n + args.rows_each));
    }
}

#if RNN_SECOND
TENON_KERNEL void second(RNN_POINTERS, const rnn_args args)
{
    const rnn_tensors t = RNN_TENSORS(args);
    const long n = get_global_id(1) * args.rows_each;
    const rnn_place p = place_of(&args, get_global_id(2), args.step, UNIT);
    if (p.unit < RNN_SECOND_UNITS(args)) {
        second_product(&args, &t, &p, n, min(args.batch, n + args.rows_each));
    }
}
#endif
