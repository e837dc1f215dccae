/* gemm/clblast: products by the CLBlast library. It is used if it is forced, if it was measured as
 * the fastest, or if no other solver serves; by estimate it is ranked last. The library is opened
 * on first use. It compiles its kernels in the caller's context at the first run there, and
 * allocates its own memory. */
#include "ops/gemm/internal.h"

#include "runtime/opencl/cl_error.h"

#include <stddef.h>
#include <string.h>

#ifdef TENON_CLBLAST
#include <clblast_c.h>

#include "base/platform.h"
#include <stdio.h>

#define CLBLAST_FUNCTIONS(X)                                                                       \
    X(CLBlastSgemm)                                                                                \
    X(CLBlastDgemm)                                                                                \
    X(CLBlastSgemmStridedBatched)                                                                  \
    X(CLBlastDgemmStridedBatched)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    CLBLAST_FUNCTIONS(MEMBER)
} clblast;

static tn_once clblast_once = TN_ONCE_INIT;
static char clblast_missing[256]; /* "" if all functions were found */

static void open_clblast(void)
{
    char why[200];
    void *library = tn_library_open(TN_LIBRARY_FILE("clblast", "1"), why, sizeof why), *found;
    if (library == NULL) {
        snprintf(clblast_missing, sizeof clblast_missing, "CLBlast cannot be opened: %s", why);
        return;
    }
#define FIND(name)                                                                                 \
    if ((found = tn_library_find(library, #name)) == NULL)                                         \
        snprintf(clblast_missing, sizeof clblast_missing, "CLBlast lacks the function %s", #name); \
    memcpy(&clblast.name, &found, sizeof found); /* ISO C has no cast from void * to a function    \
                                                  * pointer */
    CLBLAST_FUNCTIONS(FIND)
}

/* Returns why CLBlast is unavailable, or NULL. */
static const char *lacks_clblast(void)
{
    tn_once_run(&clblast_once, open_clblast);
    return clblast_missing[0] != '\0' ? clblast_missing : NULL;
}

/* Arguments of one product or of a strided batch; sizes and strides are in elements. */
typedef struct clblast_args {
    int64_t a_offset, b_offset, d_offset; /* set for each call */
    int64_t alpha, beta;                  /* bit patterns of the data type */
    size_t m, n, k, batch;
    size_t a_ld, b_ld, d_ld, a_batch, b_batch, d_batch;
    CLBlastTranspose a_transpose, b_transpose;
} clblast_args;

/* Operands of the CLBlast call. */
enum { CLBLAST_A, CLBLAST_B, CLBLAST_D, CLBLAST_OPERANDS };

static tenon_status status_of(const char *caller, const char *routine, CLBlastStatusCode code)
{
    if (code == CLBlastSuccess)
        return TENON_OK;
    if (code > -512) /* OpenCL error codes */
        return tn_fail_opencl(caller, routine, (cl_int)code);
    return tn_fail(TENON_ERROR_INCOMPLETE, "%s: %s: CLBlast returned status %d", caller, routine,
                   (int)code);
}

/* The two precisions differ only in names. */
#define DEFINE_RUN(run, type, gemm)                                                                \
    static tenon_status run(const char *caller, cl_command_queue queue, const cl_mem *buffers,     \
                            const void *data)                                                      \
    {                                                                                              \
        const clblast_args *x = data;                                                              \
        const cl_mem a = buffers[CLBLAST_A], b = buffers[CLBLAST_B], d = buffers[CLBLAST_D];       \
        size_t a_at = (size_t)x->a_offset, b_at = (size_t)x->b_offset, d_at = (size_t)x->d_offset; \
        type alpha, beta;                                                                          \
        memcpy(&alpha, &x->alpha, sizeof alpha);                                                   \
        memcpy(&beta, &x->beta, sizeof beta);                                                      \
        if (x->batch == 1)                                                                         \
            return status_of(caller, #gemm,                                                        \
                             clblast.gemm(CLBlastLayoutRowMajor, x->a_transpose, x->b_transpose,   \
                                          x->m, x->n, x->k, alpha, a, a_at, x->a_ld, b, b_at,      \
                                          x->b_ld, beta, d, d_at, x->d_ld, &queue, NULL));         \
        return status_of(caller, #gemm "StridedBatched",                                           \
                         clblast.gemm##StridedBatched(CLBlastLayoutRowMajor, x->a_transpose,       \
                                                      x->b_transpose, x->m, x->n, x->k, alpha, a,  \
                                                      a_at, x->a_ld, x->a_batch, b, b_at, x->b_ld, \
                                                      x->b_batch, beta, d, d_at, x->d_ld,          \
                                                      x->d_batch, x->batch, &queue, NULL));        \
    }

DEFINE_RUN(run_f32, float, CLBlastSgemm)
DEFINE_RUN(run_f64, double, CLBlastDgemm)

/* Describes a matrix for BLAS: row-major or transposed, with a leading dimension. Returns false if
 * neither fits. */
static bool leading(const gemm_matrix *x, int64_t rows, int64_t cols, size_t *ld,
                    CLBlastTranspose *transpose)
{
    if ((cols == 1 || x->col == 1) && (rows == 1 || x->row >= cols)) {
        *transpose = CLBlastTransposeNo;
        *ld = (size_t)(rows == 1 ? cols : x->row);
        return true;
    }
    *transpose = CLBlastTransposeYes;
    *ld = (size_t)(cols == 1 ? rows : x->col);
    return (rows == 1 || x->row == 1) && (cols == 1 || x->col >= rows);
}

/* Fills in all arguments except the offsets. Returns false if BLAS cannot express the problem. */
static bool fill(const gemm_problem *p, clblast_args *args)
{
    const gemm_matrix *a = &p->matrix[GEMM_A], *b = &p->matrix[GEMM_B], *d = &p->matrix[GEMM_D];
    uint64_t inner = p->batch_rank - 1; /* valid only if batched */
    bool batched = p->batch_rank > 0;
    CLBlastTranspose d_transpose;
    *args = (clblast_args){.m = (size_t)p->m,
                           .n = (size_t)p->n,
                           .k = (size_t)p->k,
                           .batch = batched ? (size_t)p->batch[inner] : 1,
                           .a_batch = batched ? (size_t)a->batch[inner] : 0,
                           .b_batch = batched ? (size_t)b->batch[inner] : 0,
                           .d_batch = batched ? (size_t)d->batch[inner] : 0};
    return leading(a, p->m, p->k, &args->a_ld, &args->a_transpose) &&
           leading(b, p->k, p->n, &args->b_ld, &args->b_transpose) &&
           leading(d, p->m, p->n, &args->d_ld, &d_transpose) && d_transpose == CLBlastTransposeNo;
}

static const char *gemm_clblast_refuses(const gemm_problem *p, clblast_args *args)
{
    if (p->dtype != TENON_DTYPE_F32 && p->dtype != TENON_DTYPE_F64)
        return "CLBlast sums f16 in f16, and does not support bf16";
    if (p->batch_invariant)
        return "the call is batch-invariant, and CLBlast's choice of kernel depends on M";
    if (p->activation != TENON_ACTIVATION_IDENTITY)
        return "CLBlast does not apply activations";
    if ((p->flags & GEMM_SKIP_AB) != 0 || p->k == 0)
        return "there is nothing to multiply";
    return fill(p, args) ? NULL
                         : "the strides of a matrix cannot be expressed by a leading dimension";
}

static const char *gemm_clblast_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    choice->time = TN_NO_ESTIMATE; /* its speed depends on the device that it was tuned for */
    /* No kernel is built with these options; they make each pair of layouts a variant that is
     * checked separately. */
    tn_choice_options(context, choice, GEMM_OPTIONS_FORMAT " -DTENON_LAYOUTS=%d%d",
                      GEMM_OPTIONS_VALUES(p), (int)tn_gemm_layout(p, GEMM_A),
                      (int)tn_gemm_layout(p, GEMM_B));
    const char *why = gemm_clblast_refuses(p, TN_LAYOUT(clblast_args, choice));
    return why != NULL || choice->is_estimate ? why : lacks_clblast();
}

/* Records one call for each index of the batch dimensions except the innermost, which CLBlast
 * handles as a strided batch. */
static tenon_status record_calls(const char *caller, tn_recording *recording, const gemm_problem *p,
                                 clblast_args *args)
{
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    static const int matrices[CLBLAST_OPERANDS] = {GEMM_A, GEMM_B, GEMM_D};
    int64_t *offsets[CLBLAST_OPERANDS] = {&args->a_offset, &args->b_offset, &args->d_offset};
    int64_t index[GEMM_MAX_BATCH] = {0};
    uint32_t outer = p->batch_rank > 0 ? (uint32_t)p->batch_rank - 1 : 0;
    tn_patch patches[CLBLAST_OPERANDS + 1] = {
        {TN_PATCH_OFFSET, 0, offsetof(clblast_args, a_offset), size},
        {TN_PATCH_OFFSET, 0, offsetof(clblast_args, b_offset), size},
        {TN_PATCH_OFFSET, 0, offsetof(clblast_args, d_offset), size},
        {(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_ALPHA,
         offsetof(clblast_args, alpha), 1}};
    bool single = p->dtype == TENON_DTYPE_F32;
    tn_launch launch = {.foreign = single ? run_f32 : run_f64,
                        .kernel = single ? "CLBlastSgemm" : "CLBlastDgemm",
                        .operand_count = CLBLAST_OPERANDS,
                        TN_ARGS(*args),
                        .patches = patches,
                        .patch_count = CLBLAST_OPERANDS + 1};
    for (int x = 0; x < CLBLAST_OPERANDS; x++)
        launch.operands[x] = patches[x].source = (uint8_t)p->matrix[matrices[x]].operand;
    do {
        for (int x = 0; x < CLBLAST_OPERANDS; x++) {
            const gemm_matrix *matrix = &p->matrix[matrices[x]];
            *offsets[x] = 0;
            for (uint32_t i = 0; i < outer; i++)
                *offsets[x] += index[i] * matrix->batch[i];
        }
        TN_TRY(tn_record(caller, recording, &launch));
    } while (tn_next_index(index, p->batch, outer));
    return TENON_OK;
}

/* Records the launches. The first one stores d = beta * c + bias, since c and the bias may be other
 * tensors than d. */
static tenon_status gemm_clblast_launch(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    clblast_args args = *TN_LAYOUT(const clblast_args, choice);
    const char *why = lacks_clblast(); /* not checked during estimation */
    if (why != NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s", caller, why);
    if ((p->flags & (GEMM_HAS_C | GEMM_HAS_BIAS)) != 0) {
        tn_choice plain = {.solver = &tn_gemm_plain};
        gemm_problem start = *p;
        start.flags |= GEMM_SKIP_AB | GEMM_UNSCALED;
        tn_configure(recording->context, &start.head, &plain);
        TN_TRY(tn_choice_record(caller, recording, &start.head, &plain));
        args.beta = tn_gemm_one(p->dtype);
    }
    return record_calls(caller, recording, p, &args);
}

#else

static const char *gemm_clblast_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    (void)context;
    (void)problem;
    (void)choice;
    return "Tenon was built without CLBlast";
}

static tenon_status gemm_clblast_launch(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    (void)recording;
    (void)problem;
    (void)choice;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: Tenon was built without CLBlast", caller);
}

#endif

const tn_solver tn_gemm_clblast = {
    .name = "clblast",
    .serves =
        "f32 and f64, strides with a leading dimension, no activation; never chosen by estimate",
    .needs = "memory that CLBlast allocates",
    .configure = gemm_clblast_configure,
    .launch = gemm_clblast_launch};
