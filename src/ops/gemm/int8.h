/* Products of i8 and u8: a separate solver family behind tenon_gemm. Its problem extends GEMM's
 * with types, scales and zero points. */
#ifndef TN_OPS_GEMM_INT8_H
#define TN_OPS_GEMM_INT8_H

#include "gemm/int8_args.h"
#include "ops/gemm/internal.h"

/* Operands of a call: those of GEMM, followed by the scales and zero points as numbered in
 * gemm/int8_args.h. */
#define INT8_VECTOR(number) (GEMM_OPERANDS + (number))
#define INT8_OPERANDS       INT8_VECTOR(INT8_VECTORS)

/* A scale or a zero point; all fields are zero if it is absent. */
typedef struct int8_vector {
    int64_t row,
        col; /* strides along M and N: one of them is 0, and both are for a single element */
    uint64_t operand;
} int8_vector;

/* `gemm` is canonical. Its type is that of d, or f32 if d holds integers. If its factors were
 * exchanged, their types, scales and zero points were exchanged too. */
typedef struct int8_problem {
    gemm_problem gemm;
    uint32_t types[GEMM_OPERANDS]; /* 0 if absent or not read */
    uint32_t present;              /* bit i: vector i is present */
    int8_vector vectors[INT8_VECTORS];
} int8_problem;

/* The views of a call as an array; absent ones are NULL. */
typedef const tenon_tensor *int8_views[INT8_OPERANDS];

/* Returns true if this family serves products with this first factor. */
bool tn_gemm_is_int8(const tenon_tensor *a);

/* Functions as declared in tn_operation and tn_family. */
tn_prepare_function tn_gemm_int8_prepare;
tn_reference_function tn_gemm_int8_reference;
tn_awkward_function tn_gemm_int8_awkward;

/* A call with the factors a and b and the result d: their names, and the number of elements that
 * the scale and the zero point of each may have besides one. */
typedef struct int8_call {
    const char *caller, *names[3];
    int64_t sizes[3];
} int8_call;

/* Fails for incompatible types, for vectors of wrong sizes, and for parameters that make an i32
 * result inexact. The views must be valid. The second is for products: vectors of a apply to rows,
 * those of b and d to columns. */
tenon_status tn_int8_check(const int8_call *call, const tenon_epilogue *epilogue, int8_views views);
tenon_status tn_gemm_int8_check(const char *caller, const tenon_epilogue *epilogue,
                                int8_views views);

/* Fills in a problem from checked views, like tn_gemm_canonicalize. */
tenon_status tn_gemm_int8_canonicalize(const char *caller, const tenon_gemm_params *params,
                                       int8_views views, int8_problem *problem, bool *empty);

/* Sets the scales and zero points of an epilogue to those of the views. A plan prepares its call
 * again at each run, when the caller's tensor structs may no longer exist. */
void tn_int8_restore_vectors(const tenon_tensor *const *views, tenon_epilogue *epilogue);

/* Adds the scales and zero points of an epilogue to the views of a call. */
void tn_int8_take_vectors(const tenon_epilogue *epilogue, const tenon_tensor **views);

/* Fills scales with positive values: see tn_operation. */
tn_fill_function tn_int8_fill_scales;

/* Returns the type of the results before they are rounded to an integer type. */
tenon_dtype tn_int8_real_type(tenon_dtype d);

/* Fills in the members of the arguments that describe types and scales: `types` are those of the
 * operands in the order of GEMM's. */
void tn_int8_fill_types(const uint32_t types[GEMM_OPERANDS], uint32_t present, int8_args *args);

/* For solvers: */

/* Completes `launch`, whose kernel and sizes are set except for the batch, and records it once for
 * each index of the batch dimensions beyond the innermost two. `tile_rows` is passed to the
 * kernel's argument of that name. */
tenon_status tn_gemm_int8_record_launch(const char *caller, tn_recording *recording,
                                        const int8_problem *problem, int64_t tile_rows,
                                        tn_launch *launch);

/* Records the launch of a kernel for CPUs with the parameters of ops/gemm/cpu.h. A work-group has
 * `rows` rows, but at most INT8_SUM_TILES tiles. */
tenon_status tn_gemm_int8_cpu_record(const char *caller, tn_recording *recording,
                                     const int8_problem *problem, const tn_choice *choice,
                                     int64_t rows, const char *source, const char *kernel);

extern const tn_family tn_gemm_int8_family;
extern const tn_solver tn_gemm_int8_plain, tn_gemm_int8_tiled, tn_gemm_int8_cpu,
    tn_gemm_int8_cpu_dot, tn_gemm_int8_gemv, tn_gemm_int8_mma, tn_gemm_int8_mfma, tn_gemm_int8_wmma,
    tn_gemm_int8_xmx, tn_gemm_int8_wgmma;

#endif
