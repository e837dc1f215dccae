/*
 * In-place step of stochastic gradient descent; include/tenon/optimizer.h has the formula.
 *
 * Views: gradient, parameter, velocity and master, with any strides; args.flags states if the last
 * two exist. A work-item handles pieces of lines (common/lines.clh).
 *
 * Scalars: 0 the learning rate, 1 the momentum, 2 one minus the dampening, 3 the weight decay.
 *
 * TENON_GRADIENT_ACC, TENON_VW, TENON_DTYPE: see optimizer/operands.clh; TENON_GUARD: see
 * optimizer/guard.clh.
 */
#include "optimizer/operands.clh"
#include "optimizer/guard.clh"

#define NESTEROV 1
#define FIRST    2
#define MAXIMIZE 4

#define GRADIENT  0
#define PARAMETER 1
#define VELOCITY  2
#define MASTER    3
#define VIEWS     4

typedef struct operands {
    __global const gradient_t *gradient;
    __global acc_t *velocity;
    long gradient_step, velocity_step;
    parameter_lines parameters;
#if TENON_GUARD
    acc_t gradient_scale;
#endif
} operands;

/* Updates the velocity, and returns the direction of descent. */
TENON_INLINE acc_v descend(const lines_args *args, acc_v *velocity, acc_v g)
{
    const acc_v momentum = splat(lines_scalar(args, 1)), fresh = splat(lines_scalar(args, 2));
    if ((args->flags & OPTIMIZER_HAS_VELOCITY) == 0) {
        return g;
    }
    *velocity = (args->flags & FIRST) != 0 ? g : TENON_FMA(momentum, *velocity, fresh * g);
    return (args->flags & NESTEROV) != 0 ? TENON_FMA(momentum, *velocity, g) : *velocity;
}

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        const lines_args *args, const operands *o)
{
    const acc_v rate = splat(lines_scalar(args, 0));
    const acc_t decay = lines_scalar(args, 3);
    const int has_velocity = (args->flags & OPTIMIZER_HAS_VELOCITY) != 0;
    acc_v gradient[TENON_VECTORS], p[TENON_VECTORS], velocity[TENON_VECTORS];
    load_gradients(vectors, whole, s, o->gradient, i, o->gradient_step, gradient);
#if TENON_GUARD
    FOR_VECTORS(k, vectors)
    {
        gradient[k] = gradient[k] * splat(o->gradient_scale);
    }
#endif
    load_parameters(vectors, whole, s, &o->parameters, i, p);
    FOR_VECTORS(k, vectors)
    {
        velocity[k] = splat(0);
    }
    if (has_velocity && (args->flags & FIRST) == 0) {
        load_states(vectors, whole, s, o->velocity, i, o->velocity_step, velocity);
    }
    FOR_VECTORS(k, vectors)
    {
        acc_v g = (args->flags & MAXIMIZE) != 0 ? -gradient[k] : gradient[k];
        g = decay != 0 ? TENON_FMA(splat(decay), p[k], g) : g;
        const acc_v d = descend(args, &velocity[k], g);
        p[k] = TENON_FMA(-rate, d, p[k]);
    }
    if (has_velocity) {
        store_states(vectors, whole, s, o->velocity, i, o->velocity_step, velocity);
    }
    store_parameters(vectors, whole, s, &o->parameters, i, p);
}

TENON_INLINE int all_vectorizable(const lines_args *args, const operands *o)
{
    return gradient_is_vectorizable(o->gradient, o->gradient_step) &&
           parameters_are_vectorizable(&o->parameters) &&
           ((args->flags & OPTIMIZER_HAS_VELOCITY) == 0 ||
            state_is_vectorizable(o->velocity, o->velocity_step));
}

TENON_VECTOR_KERNEL void sgd(__global const gradient_t *gradient, __global data_t *parameter,
                             __global acc_t *velocity, __global acc_t *master, GUARD_PARAMETERS)
{
    lines w;
    RETURN_IF_SKIPPED
    lines_begin(&w, &ARGS, VIEWS);
    EACH_PIECE(&w, &ARGS, VIEWS)
    {
        const span s = lines_span(&w, &ARGS);
        const operands o = {
            gradient + w.at[GRADIENT],
            velocity + w.at[VELOCITY],
            ARGS.along[GRADIENT],
            ARGS.along[VELOCITY],
            {parameter + w.at[PARAMETER], master + w.at[MASTER], ARGS.along[PARAMETER],
             ARGS.along[MASTER], (ARGS.flags & OPTIMIZER_HAS_MASTER) != 0},
#if TENON_GUARD
            GRADIENT_SCALE,
#endif
        };
        EACH_BLOCK(&s, all_vectorizable(&ARGS, &o), block(vectors, whole, &s, i, &ARGS, &o))
    }
}
