/* All operations, one a line, for whoever defines X. Those of a family stand together, the one that
 * its name alone means first. No include guard: it is included more than once. */
/* clang-format off */
X(gemm)
/* clang-format on */
