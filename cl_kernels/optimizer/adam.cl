/*
 * A step of Adam or AdamW, in place; include/tenon/optimizer.h has the formula.
 *
 * Views: gradient, parameter, first and second moment, master, any strides; args.flags says whether
 * there is a master. A work-item does pieces of lines (common/lines.clh).
 *
 * Scalars: 0 the learning rate / (1 - β₁ᵗ), 1 β₁, 2 1 - β₁, 3 β₂, 4 1 - β₂, 5 1 / sqrt(1 - β₂ᵗ), 6
 * ε, 7 the weight decay, or 1 - the learning rate · it where it is decoupled.
 *
 * TENON_GRADIENT_ACC, TENON_VW, TENON_DTYPE: see optimizer/operands.clh.
 */
#include "optimizer/operands.clh"

#define DECOUPLED 1
#define MAXIMIZE  2

#define GRADIENT  0
#define PARAMETER 1
#define FIRST     2
#define SECOND    3
#define MASTER    4
#define VIEWS     5

/* A moment brought up to date with x. */
TENON_INLINE acc_v update(__global acc_t *moment, place at, int lanes, acc_v x, acc_t keep,
                          acc_t fresh)
{
    acc_v old = load_state(moment, at.at, at.stride, lanes);
    acc_v result = TENON_FMA(splat(keep), old, splat(fresh) * x);
    store_state(moment, at.at, at.stride, lanes, result);
    return result;
}

TENON_VECTOR_KERNEL void adam(__global const gradient_t *gradient, __global data_t *parameter,
                              __global acc_t *first, __global acc_t *second, __global acc_t *master,
                              const lines_args args)
{
    const acc_v rate = splat(lines_scalar(&args, 0)), root = splat(lines_scalar(&args, 5));
    const acc_v epsilon = splat(lines_scalar(&args, 6));
    const acc_t decay = lines_scalar(&args, 7);
    const int decoupled = (args.flags & DECOUPLED) != 0;
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
            if (decoupled) {
                p = p * splat(decay);
            } else if (decay != 0) {
                g = TENON_FMA(splat(decay), p, g);
            }
            acc_v m = update(first, place_of(&args, &w, FIRST, i), lanes, g, lines_scalar(&args, 1),
                             lines_scalar(&args, 2));
            acc_v v = update(second, place_of(&args, &w, SECOND, i), lanes, g * g,
                             lines_scalar(&args, 3), lines_scalar(&args, 4));
            acc_v d = m / TENON_FMA(sqrt(v), root, epsilon);
            p = TENON_FMA(-rate, d, p);
            store_parameter(&args, parameter, p_at, master, m_at, lanes, p);
        }
    }
}
