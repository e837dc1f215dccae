/* Lists of the floating-point functions, for kernels and for the library. Each entry has the
 * function's number, the suffix of its enumerator, its name in messages, the allowed error in units
 * in the last place (OpenCL C specification, "Relative error as ULPs", full profile, single
 * precision; for doubles it allows the same or less), the expression in kernels, and the expression
 * in double precision of the reference. */
#ifndef TENON_COMMON_FUNCTION_LIST_H
#define TENON_COMMON_FUNCTION_LIST_H

/* Functions of x. The number is the value in tenon_function_kind, consecutive from 0. The fourth
 * argument is 1 if the function has a kernel build of its own; the others share one, where a
 * run-time argument selects the function. FUNCTION_OWN(f) is f of common/math.clh. */
/* clang-format off */
#define TENON_UNARY_FUNCTIONS(X)                                                                   \
    X(0, ABS, abs, 0, 0, fabs(x), fabs(x))                                                         \
    X(1, NEG, neg, 0, 0, -x, -x)                                                                   \
    X(2, SIGN, sign, 0, 0, function_sign(x), sign_of(x))                                           \
    X(3, SQRT, sqrt, 0, 3, sqrt(x), sqrt(x))                                                       \
    X(4, RSQRT, rsqrt, 0, 2, rsqrt(x), 1 / sqrt(x))                                                \
    X(5, RECIPROCAL, reciprocal, 0, 2.5, (function_t)(1) / x, 1 / x)                               \
    X(6, FLOOR, floor, 0, 0, floor(x), floor(x))                                                   \
    X(7, CEIL, ceil, 0, 0, ceil(x), ceil(x))                                                       \
    X(8, ROUND, round, 0, 0, rint(x), nearbyint(x))                                                \
    X(9, TRUNC, trunc, 0, 0, trunc(x), trunc(x))                                                   \
    X(10, EXP, exp, 1, 3, FUNCTION_OWN(exp)(x), exp_of(x))                                         \
    X(11, EXP2, exp2, 1, 3, exp2(x), exp2(x))                                                      \
    X(12, EXPM1, expm1, 1, 3, FUNCTION_OWN(expm1)(x), expm1(x))                                    \
    X(13, LOG, log, 1, 3, log(x), log(x))                                                          \
    X(14, LOG2, log2, 1, 3, function_log2(x), log2(x))                                             \
    X(15, LOG10, log10, 1, 3, log10(x), log10(x))                                                  \
    X(16, LOG1P, log1p, 1, 2, log1p(x), log1p(x))                                                  \
    X(17, SIN, sin, 1, 4, function_sin(x), sin(x))                                                 \
    X(18, COS, cos, 1, 4, function_cos(x), cos(x))                                                 \
    X(19, TAN, tan, 1, 5, function_tan(x), tan(x))                                                 \
    X(20, ASIN, asin, 1, 4, asin(x), asin(x))                                                      \
    X(21, ACOS, acos, 1, 4, acos(x), acos(x))                                                      \
    X(22, ATAN, atan, 1, 5, atan(x), atan(x))                                                      \
    X(23, SINH, sinh, 1, 4, function_sinh(x), sinh(x))                                             \
    X(24, COSH, cosh, 1, 4, function_cosh(x), cosh(x))                                             \
    X(25, TANH, tanh, 1, 5, FUNCTION_OWN(tanh)(x), tanh(x))                                        \
    X(26, ASINH, asinh, 1, 4, asinh(x), asinh(x))                                                  \
    X(27, ACOSH, acosh, 1, 4, acosh(x), acosh(x))                                                  \
    X(28, ATANH, atanh, 1, 5, atanh(x), atanh(x))                                                  \
    X(29, ERF, erf, 1, 16, function_erf(x), erf(x))

/* Functions of x and y, each with a build of its own. The number is the value in
 * tenon_elementwise_kind, consecutive from 7, and one less than that in tenon_chain_op. */
#define TENON_BINARY_FUNCTIONS(X)                                                                  \
    X(7, POW, pow, 1, 16, function_pow(x, y), pow(x, y))                                           \
    X(8, FMOD, fmod, 1, 0, function_fmod(x, y), fmod(x, y))                                        \
    X(9, REMAINDER, remainder, 1, 0.5, function_remainder(x, y), remainder_of(x, y))               \
    X(10, ATAN2, atan2, 1, 6, atan2(x, y), atan2(x, y))
/* clang-format on */

#endif
