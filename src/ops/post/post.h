/* The terms after the activation of products and convolutions,
 *
 *     d = post_scale · activation(…) + post_shift + residual,
 *
 * as an element-wise chain that follows the operation, and their reference. */
#ifndef TN_OPS_POST_POST_H
#define TN_OPS_POST_POST_H

#include "ops/common/epilogue.h"

/* Names of the terms' operands. */
extern const char *const tn_post_names[POST_TERMS];

/* The terms of a problem as views with the shape of the output, by their strides. They have no
 * memory and no offsets. */
typedef struct tn_post {
    tenon_tensor output;
    tenon_tensor term[POST_TERMS]; /* type 0: absent */
    uint16_t output_operand, term_operand[POST_TERMS];
    bool is_in_place; /* the residual is the output itself */
} tn_post;

/* Sets a term's view, with the given strides along the output's dimensions. */
void tn_post_set(tn_post *post, int term, const int64_t *stride, uint16_t operand);

/* The solver two_steps of a family: a child that computes the activation, and the chain. The child
 * stores its result in the output or, if the residual is the output, in the workspace. */
typedef struct tn_two_steps {
    const tn_family *family; /* of the child */
    tn_problem *child;       /* its problem, as if it stored its result in the output */
    const char *fastest;     /* the child's solver in self-checks: the one that builds fastest */
    tn_post post;
} tn_two_steps;

/* Returns how many bytes of the workspace the child's result takes: 0 if it is the output. */
uint64_t tn_two_steps_bytes(const tn_two_steps *steps);

/* Functions of the solver. The child's result is dense in row-major order in the workspace. */
const char *tn_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                   const tn_two_steps *steps, tn_choice *choice);
tenon_status tn_two_steps_launch(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_two_steps *steps);

/* Returns true if a self-check must make the residual the output: other solvers than two_steps do
 * the same in both cases, if they serve them. */
bool tn_post_tries_in_place(const tn_choice *choice, uint32_t flags);

/* Adds the terms to the results of an operation's reference and its bounds; `output` and the terms
 * are views of host memory, and the terms are broadcast to the output's shape. The bounds hold for
 * both ways to compute them. Returns false if memory is exhausted. */
bool tn_post_reference(const tenon_tensor *output, const tenon_tensor *const term[POST_TERMS],
                       tn_bounded *results);

#endif
