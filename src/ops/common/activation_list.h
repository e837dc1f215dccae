/* All activations, one a line, for whoever defines X: the number in tenon_activation_kind, from 0
 * on without a gap; the end of the enumerator's name; the name in words; whether a transcendental
 * function computes it, which is a kernel build of its own; how many constants its formula has; and
 * their customary values, 0 where there are none.
 *
 * `./run docs` writes the numbers into cl_kernels/common/activation.clh. docs/architecture.md,
 * "Adding an activation", says what else a new one needs. No include guard: it is included more
 * than once. */
/* clang-format off */
X(0, IDENTITY, identity, false, 0, 0, 0)
X(1, RELU, relu, false, 0, 0, 0)
X(2, LEAKY_RELU, leaky_relu, false, 1, 0.01, 0)         /* alpha: slope below zero */
X(3, CLIPPED_RELU, clipped_relu, false, 1, 6, 0)        /* alpha: ceiling */
X(4, SIGMOID, sigmoid, true, 0, 0, 0)
X(5, TANH, tanh, true, 0, 0, 0)
X(6, ELU, elu, true, 1, 1, 0)                           /* alpha: what it falls to, negated */
X(7, SELU, selu, true, 0, 0, 0)
X(8, CELU, celu, true, 1, 1, 0)                         /* alpha: the same, above zero */
X(9, GELU, gelu, true, 0, 0, 0)
X(10, GELU_TANH, gelu_tanh, true, 0, 0, 0)
X(11, SILU, silu, true, 0, 0, 0)
X(12, MISH, mish, true, 0, 0, 0)
X(13, HARD_SIGMOID, hard_sigmoid, false, 2, 1.0 / 6, 0.5) /* alpha: slope, beta: value at zero */
X(14, HARD_SWISH, hard_swish, false, 0, 0, 0)
X(15, HARD_TANH, hard_tanh, false, 2, -1, 1)            /* alpha: floor, beta: ceiling */
X(16, SOFTPLUS, softplus, true, 0, 0, 0)
X(17, SOFTSIGN, softsign, false, 0, 0, 0)
X(18, EXP, exp, true, 0, 0, 0)
X(19, ABS, abs, false, 0, 0, 0)
X(20, SQUARE, square, false, 0, 0, 0)
/* clang-format on */
