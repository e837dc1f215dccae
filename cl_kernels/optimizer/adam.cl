/*
 * In-place step of Adam or AdamW; include/tenon/optimizer.h has the formula.
 *
 * Views: gradient, parameter, first and second moment, master, with any strides; args.flags states
 * if there is a master. A work-item handles pieces of lines (common/lines.clh).
 *
 * Scalars: 0 the learning rate / (1 - β₁ᵗ), 1 β₁, 2 1 - β₁, 3 β₂, 4 1 - β₂, 5 1 / sqrt(1 - β₂ᵗ), 6
 * ε, 7 the weight decay or, if it is decoupled, 1 - learning rate · weight decay.
 *
 * TENON_GRADIENT_ACC, TENON_VW, TENON_DTYPE: see optimizer/operands.clh; TENON_GUARD: see
 * optimizer/guard.clh.
 */
#include "optimizer/operands.clh"
#include "optimizer/guard.clh"

#define DECOUPLED 1
#define MAXIMIZE  2

#define GRADIENT  0
#define PARAMETER 1
#define FIRST     2
#define SECOND    3
#define MASTER    4
#define VIEWS     5

typedef struct operands {
    __global const gradient_t *gradient;
    __global acc_t *first, *second;
    long gradient_step, first_step, second_step;
    parameter_lines parameters;
#if TENON_GUARD
    acc_t gradient_scale;
#endif
} operands;

/* Returns a moment updated with x. */
TENON_INLINE acc_v update(acc_v old, acc_v x, acc_t keep, acc_t fresh)
{
    return TENON_FMA(splat(keep), old, splat(fresh) * x);
}

/* Computes the step of a vector. */
TENON_INLINE acc_v step_of(const lines_args *args, acc_v g, acc_v p, acc_v *m, acc_v *v)
{
    const acc_v rate = splat(lines_scalar(args, 0)), root = splat(lines_scalar(args, 5));
    const acc_v epsilon = splat(lines_scalar(args, 6));
    const acc_t decay = lines_scalar(args, 7);
    g = (args->flags & MAXIMIZE) != 0 ? -g : g;
    if ((args->flags & DECOUPLED) != 0) {
        p = p * splat(decay);
    } else if (decay != 0) {
        g = TENON_FMA(splat(decay), p, g);
    }
    *m = update(*m, g, lines_scalar(args, 1), lines_scalar(args, 2));
    *v = update(*v, g * g, lines_scalar(args, 3), lines_scalar(args, 4));
    const acc_v d = *m / TENON_FMA(sqrt(*v), root, epsilon);
    return TENON_FMA(-rate, d, p);
}

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        const lines_args *args, const operands *o)
{
    acc_v g[TENON_VECTORS], p[TENON_VECTORS], m[TENON_VECTORS], v[TENON_VECTORS];
    load_gradients(vectors, whole, s, o->gradient, i, o->gradient_step, g);
#if TENON_GUARD
    FOR_VECTORS(k, vectors)
    {
        g[k] = g[k] * splat(o->gradient_scale);
    }
#endif
    load_parameters(vectors, whole, s, &o->parameters, i, p);
    load_states(vectors, whole, s, o->first, i, o->first_step, m);
    load_states(vectors, whole, s, o->second, i, o->second_step, v);
    FOR_VECTORS(k, vectors)
    {
        p[k] = step_of(args, g[k], p[k], &m[k], &v[k]);
    }
    store_states(vectors, whole, s, o->first, i, o->first_step, m);
    store_states(vectors, whole, s, o->second, i, o->second_step, v);
    store_parameters(vectors, whole, s, &o->parameters, i, p);
}

TENON_INLINE int all_vectorizable(const operands *o)
{
    return gradient_is_vectorizable(o->gradient, o->gradient_step) &&
           parameters_are_vectorizable(&o->parameters) &&
           state_is_vectorizable(o->first, o->first_step) &&
           state_is_vectorizable(o->second, o->second_step);
}

TENON_VECTOR_KERNEL void adam(__global const gradient_t *gradient, __global data_t *parameter,
                              __global acc_t *first, __global acc_t *second, __global acc_t *master,
                              GUARD_PARAMETERS)
{
    lines w;
    RETURN_IF_SKIPPED
    lines_begin(&w, &ARGS, VIEWS);
    EACH_PIECE(&w, &ARGS, VIEWS)
    {
        const span s = lines_span(&w, &ARGS);
        const operands o = {
            gradient + w.at[GRADIENT],
            first + w.at[FIRST],
            second + w.at[SECOND],
            ARGS.along[GRADIENT],
            ARGS.along[FIRST],
            ARGS.along[SECOND],
            {parameter + w.at[PARAMETER], master + w.at[MASTER], ARGS.along[PARAMETER],
             ARGS.along[MASTER], (ARGS.flags & OPTIMIZER_HAS_MASTER) != 0},
#if TENON_GUARD
            GRADIENT_SCALE,
#endif
        };
        EACH_BLOCK(&s, all_vectorizable(&o), block(vectors, whole, &s, i, &ARGS, &o))
    }
}
