/* The tiles of gemm/tiled by kind of GPU, chosen by what the vendors' compilers make of them: no
 * register is spilled, and two work-groups of the largest or more fit a compute unit
 * (docs/performance.md). */
#include "ops/gemm/tiled.h"

typedef tn_gemm_tile tile_set[TN_GEMM_TILES];

/* Of f32 and the 16-bit types, the largest first. */
static const tile_set safe = {{64, 64, 8, 4, 4, 1}, {32, 64, 16, 4, 4, 1}, {32, 32, 16, 2, 4, 1}};
/* 64 sums take up to 168 of 512 registers for each lane of a quarter of the compute unit: three
 * work-groups of 128 beside one another, each with barriers of its own. */
static const tile_set nvidia = {
    {128, 64, 8, 8, 8, 2}, {64, 64, 16, 8, 4, 2}, {32, 32, 32, 2, 4, 2}};
/* 64 sums in half the registers or less, and 17 KiB of 64 of local memory. */
static const tile_set wide = {{128, 128, 8, 8, 8, 2}, {64, 64, 16, 8, 4, 2}, {32, 32, 32, 2, 4, 2}};
/* Of f64, whose sums take twice the registers. */
static const tile_set large_f64 = {
    {64, 64, 8, 8, 4, 2}, {64, 32, 8, 4, 4, 2}, {32, 32, 16, 2, 4, 2}};
/* Of f64 on Xe-HPC, whose compiler spills what is larger. */
static const tile_set narrow_f64 = {
    {64, 64, 4, 4, 4, 1}, {64, 32, 8, 4, 2, 1}, {32, 32, 8, 2, 2, 2}};
static const tile_set safe_f64 = {
    {32, 64, 16, 4, 4, 1}, {32, 32, 16, 2, 4, 1}, {16, 32, 16, 2, 2, 1}};

const tn_gemm_tile *tn_gemm_tiles(tenon_context *context, uint32_t dtype)
{
    switch (context->device.arch) {
    case TN_ARCH_SM_75:
    case TN_ARCH_SM_80:
    case TN_ARCH_SM_86:
    case TN_ARCH_SM_89:
    case TN_ARCH_SM_90:
    case TN_ARCH_SM_100:
        return dtype == TENON_DTYPE_F64 ? large_f64 : nvidia;
    case TN_ARCH_XE_HPC:
        return dtype == TENON_DTYPE_F64 ? narrow_f64 : wide;
    case TN_ARCH_OTHER:
        return dtype == TENON_DTYPE_F64 ? safe_f64 : safe;
    default:
        return dtype == TENON_DTYPE_F64 ? large_f64 : wide;
    }
}

/* Intel's GPUs have no registers for so many sums then. */
const tn_gemm_tile *tn_gemm_small_tiles(tenon_context *context, uint32_t dtype)
{
    const bool is_intel = context->device.arch >= TN_ARCH_XE_LP && dtype != TENON_DTYPE_F64;
    return is_intel ? safe : tn_gemm_tiles(context, dtype);
}
