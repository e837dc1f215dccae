/* All activations, one per line, as calls of a macro X that the includer defines. Arguments: the
 * value in tenon_activation_kind, consecutive from 0; the suffix of the enumerator; the name in
 * messages; true if it needs a transcendental function, which gets a kernel build of its own; the
 * number of constants in its formula; and their customary values, 0 where there are none.
 *
 * `./run docs` writes the numbers into cl_kernels/common/activation.clh. docs/architecture.md,
 * "Adding an activation", lists what else a new one requires. No include guard: the file is
 * included more than once. */
/* clang-format off */
X(0, IDENTITY, identity, false, 0, 0, 0)
X(1, RELU, relu, false, 0, 0, 0)
X(2, LEAKY_RELU, leaky_relu, false, 1, 0.01, 0)         /* alpha: slope below zero */
X(3, CLIPPED_RELU, clipped_relu, false, 1, 6, 0)        /* alpha: ceiling */
X(4, SIGMOID, sigmoid, true, 0, 0, 0)
X(5, TANH, tanh, true, 0, 0, 0)
X(6, ELU, elu, true, 1, 1, 0)                           /* alpha: minus the limit at -infinity */
X(7, SELU, selu, true, 0, 0, 0)
X(8, CELU, celu, true, 1, 1, 0)                         /* alpha: as for elu, but above zero */
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
