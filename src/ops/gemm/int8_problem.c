/* The canonical problem of i8 and u8 products, and the completion of their launches. */
#include "base/shape.h"
#include "ops/gemm/int8.h"

#include <stddef.h>
#include <string.h>

tenon_dtype tn_int8_real_type(tenon_dtype d)
{
    return d == TENON_DTYPE_F16 || d == TENON_DTYPE_BF16 ? d : TENON_DTYPE_F32;
}

static void take_vector(int8_problem *p, uint32_t number, const tenon_tensor *view)
{
    int8_vector *vector = &p->vectors[number];
    bool of_rows = number == INT8_SCALE_A || number == INT8_ZERO_A;
    if (view == NULL)
        return;
    p->present |= 1U << number;
    vector->operand = INT8_VECTOR(number);
    if (view->rank == 1 && view->shape[0] != 1)
        *(of_rows ? &vector->row : &vector->col) = view->stride[0];
}

static void swap_bits(uint32_t *bits, uint32_t i, uint32_t j)
{
    uint32_t differ = (*bits >> i ^ *bits >> j) & 1U;
    *bits ^= differ << i | differ << j;
}

/* Exchanges the types, scales and zero points after GEMM has exchanged and transposed its
 * operands. */
static void exchange(int8_problem *p)
{
    static const uint32_t pairs[][2] = {{INT8_SCALE_A, INT8_SCALE_B}, {INT8_ZERO_A, INT8_ZERO_B}};
    uint32_t type = p->types[GEMM_A];
    p->types[GEMM_A] = p->types[GEMM_B];
    p->types[GEMM_B] = type;
    for (int i = 0; i < 2; i++) {
        int8_vector first = p->vectors[pairs[i][0]];
        p->vectors[pairs[i][0]] = p->vectors[pairs[i][1]];
        p->vectors[pairs[i][1]] = first;
        swap_bits(&p->present, pairs[i][0], pairs[i][1]);
    }
    for (int i = 0; i < INT8_VECTORS; i++) {
        int64_t row = p->vectors[i].row;
        p->vectors[i].row = p->vectors[i].col;
        p->vectors[i].col = row;
    }
}

tenon_status tn_gemm_int8_canonicalize(const char *caller, const tenon_gemm_params *params,
                                       int8_views views, int8_problem *p, bool *empty)
{
    memset(p, 0, sizeof *p);
    TN_TRY(tn_gemm_canonicalize(caller, params, views[GEMM_A], views[GEMM_B], views[GEMM_C],
                                views[GEMM_BIAS], views[GEMM_D], &p->gemm, empty));
    p->gemm.head.size = sizeof *p;
    p->gemm.dtype = tn_int8_real_type(views[GEMM_D]->dtype);
    for (int x = 0; x < GEMM_OPERANDS; x++)
        if (views[x] != NULL)
            p->types[x] = views[x]->dtype;
    if ((p->gemm.flags & GEMM_HAS_C) == 0)
        p->types[GEMM_C] = 0;
    for (uint32_t i = 0; i < INT8_VECTORS; i++)
        take_vector(p, i, views[INT8_VECTOR(i)]);
    if (p->gemm.matrix[GEMM_A].operand == GEMM_B)
        exchange(p);
    return TENON_OK;
}

/* The argument struct and its patches at each run. */
typedef struct int8_arguments {
    int8_args args;
    tn_patch patches[GEMM_OPERANDS + TN_EPILOGUE_SCALARS + INT8_VECTORS];
    uint32_t patch_count;
} int8_arguments;

static tenon_i32 sign_of(uint32_t dtype)
{
    return dtype == TENON_DTYPE_I8 ? 128 : 0;
}

static tenon_i32 output_of(uint32_t dtype)
{
    switch (dtype) {
    case TENON_DTYPE_I8:
    case TENON_DTYPE_U8:
        return INT8_TO_BYTE;
    case TENON_DTYPE_I32:
        return INT8_TO_I32;
    default:
        return INT8_TO_REAL;
    }
}

/* Returns the type of an operand of the call, numbered before any exchange. */
static uint32_t operand_type(const int8_problem *p, uint8_t operand)
{
    for (int x = 0; x < GEMM_OPERANDS; x++)
        if (p->gemm.matrix[x].operand == operand)
            return p->types[x];
    return TENON_DTYPE_INVALID;
}

static void add_vector(const int8_problem *p, uint32_t number, int8_arguments *arguments)
{
    const int8_vector *vector = &p->vectors[number];
    size_t at = offsetof(int8_args, offset) + number * sizeof arguments->args.offset[0];
    arguments->args.row[number] = vector->row;
    arguments->args.col[number] = vector->col;
    if ((p->present >> number & 1U) != 0)
        arguments->patches[arguments->patch_count++] = (tn_patch){
            .kind = TN_PATCH_OFFSET,
            .source = (uint8_t)vector->operand,
            .at = (uint16_t)at,
            .unit = number < INT8_ZERO_A ? (uint32_t)sizeof(float) : 1,
        };
}

/* Returns the maximum absolute value of a byte minus its zero point. */
static int64_t most_of(const int8_problem *p, uint32_t dtype, uint32_t zero_point)
{
    bool shifted = (p->present >> zero_point & 1U) != 0;
    return dtype == TENON_DTYPE_I8 && !shifted ? 128 : 255;
}

/* Returns the number of products of any values that a float sums exactly, a multiple of 4. */
static int64_t exact_products(const int8_problem *p)
{
    int64_t most =
        most_of(p, p->types[GEMM_A], INT8_ZERO_A) * most_of(p, p->types[GEMM_B], INT8_ZERO_B);
    return (INT64_C(1) << 24) / most / 4 * 4;
}

void tn_int8_fill_types(const uint32_t types[GEMM_OPERANDS], uint32_t present, int8_args *args)
{
    args->present = (tenon_i32)present;
    args->output = output_of(types[GEMM_D]);
    args->bias_i32 = types[GEMM_BIAS] == TENON_DTYPE_I32;
    args->a_sign = sign_of(types[GEMM_A]);
    args->b_sign = sign_of(types[GEMM_B]);
    args->d_sign = sign_of(types[GEMM_D]);
}

static void make_arguments(const int8_problem *p, int64_t tile_rows, int8_arguments *arguments)
{
    gemm_arguments common;
    memset(arguments, 0, sizeof *arguments);
    tn_gemm_arguments(&p->gemm, &common);
    common.args.tile_rows = (tenon_i32)tile_rows;
    common.args.k_chunk = exact_products(p);
    arguments->args.gemm = common.args;
    tn_int8_fill_types(p->types, p->present, &arguments->args);
    /* GEMM's arguments are the first member of the struct, so its patches apply. Only their units
     * change, since each operand has its own type. */
    for (uint32_t i = 0; i < common.patch_count; i++) {
        tn_patch patch = common.patches[i];
        if (patch.kind == TN_PATCH_OFFSET)
            patch.unit = (uint32_t)tenon_dtype_size((tenon_dtype)operand_type(p, patch.source));
        arguments->patches[arguments->patch_count++] = patch;
    }
    for (uint32_t i = 0; i < INT8_VECTORS; i++)
        add_vector(p, i, arguments);
}

tenon_status tn_gemm_int8_record_launch(const char *caller, tn_recording *recording,
                                        const int8_problem *p, int64_t tile_rows, tn_launch *launch)
{
    int8_arguments arguments;
    make_arguments(p, tile_rows, &arguments);
    launch->args = &arguments.args;
    launch->args_size = sizeof arguments.args;
    launch->patches = arguments.patches;
    launch->patch_count = arguments.patch_count;
    tn_gemm_launch_operands(&p->gemm, launch);
    for (uint32_t i = 0; i < INT8_VECTORS; i++)
        launch->operands[launch->operand_count++] =
            (uint8_t)((p->present >> i & 1U) != 0 ? p->vectors[i].operand
                                                  : p->gemm.matrix[GEMM_D].operand);
    return tn_gemm_record_batches(caller, recording, &p->gemm, &arguments.args.gemm, launch);
}
