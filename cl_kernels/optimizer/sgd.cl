/*
 * A step of stochastic gradient descent, in place; include/tenon/optimizer.h has the formula.
 *
 * Views: gradient, parameter, velocity and master, any strides; args.flags says which of the last
 * two there are. A work-item does pieces of lines (common/lines.clh).
 *
 * Scalars: 0 the learning rate, 1 the momentum, 2 one less the dampening, 3 the weight decay.
 *
 * TENON_GRADIENT_ACC, TENON_VW, TENON_DTYPE: see optimizer/operands.clh.
 */
#include "optimizer/operands.clh"

#define NESTEROV 1
#define FIRST    2
#define MAXIMIZE 4

#define GRADIENT  0
#define PARAMETER 1
#define VELOCITY  2
#define MASTER    3
#define VIEWS     4

/* The direction of descent, with the velocity brought up to date. */
TENON_INLINE acc_v descend(const lines_args *args, __global acc_t *velocity, place at, int lanes,
                           acc_v g)
{
    const acc_v momentum = splat(lines_scalar(args, 1)), fresh = splat(lines_scalar(args, 2));
    if ((args->flags & OPTIMIZER_HAS_VELOCITY) == 0) {
        return g;
    }
    acc_v v = g;
    if ((args->flags & FIRST) == 0) {
        v = TENON_FMA(momentum, load_state(velocity, at.at, at.stride, lanes), fresh * g);
    }
    store_state(velocity, at.at, at.stride, lanes, v);
    return (args->flags & NESTEROV) != 0 ? TENON_FMA(momentum, v, g) : v;
}

TENON_VECTOR_KERNEL void sgd(__global const gradient_t *gradient, __global data_t *parameter,
                             __global acc_t *velocity, __global acc_t *master,
                             const lines_args args)
{
    const acc_v rate = splat(lines_scalar(&args, 0));
    const acc_t decay = lines_scalar(&args, 3);
    lines w;
    for (lines_begin(&w, &args, VIEWS); w.left > 0; lines_next(&w, &args, VIEWS)) {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            const place g_at = place_of(&args, &w, GRADIENT, i);
            const place p_at = place_of(&args, &w, PARAMETER, i);
            const place m_at = place_of(&args, &w, MASTER, i);
            acc_v g = load_gradient(gradient, g_at.at, g_at.stride, lanes);
            acc_v p = load_parameter(&args, parameter, p_at, master, m_at, lanes);
            g = (args.flags & MAXIMIZE) != 0 ? -g : g;
            g = decay != 0 ? TENON_FMA(splat(decay), p, g) : g;
            acc_v d = descend(&args, velocity, place_of(&args, &w, VELOCITY, i), lanes, g);
            p = TENON_FMA(-rate, d, p);
            store_parameter(&args, parameter, p_at, master, m_at, lanes, p);
        }
    }
}
