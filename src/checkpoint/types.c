/* The element types of safetensors. */
#include "checkpoint/header.h"

#include <string.h>

static const tn_file_type types[] = {
    {"F64", 64, TENON_DTYPE_F64},        {"F32", 32, TENON_DTYPE_F32},
    {"F16", 16, TENON_DTYPE_F16},        {"BF16", 16, TENON_DTYPE_BF16},
    {"I8", 8, TENON_DTYPE_I8},           {"U8", 8, TENON_DTYPE_U8},
    {"I16", 16, TENON_DTYPE_I16},        {"U16", 16, TENON_DTYPE_U16},
    {"I32", 32, TENON_DTYPE_I32},        {"U32", 32, TENON_DTYPE_U32},
    {"I64", 64, TENON_DTYPE_I64},        {"BOOL", 8, TENON_DTYPE_BOOL},
    {"F8_E4M3", 8, TENON_DTYPE_F8_E4M3}, {"F8_E5M2", 8, TENON_DTYPE_F8_E5M2},
    {"U64", 64, TENON_DTYPE_INVALID},    {"C64", 64, TENON_DTYPE_INVALID},
    {"F8_E8M0", 8, TENON_DTYPE_INVALID}, {"F6_E2M3", 6, TENON_DTYPE_INVALID},
    {"F6_E3M2", 6, TENON_DTYPE_INVALID}, {"F4", 4, TENON_DTYPE_INVALID},
};

#define TYPE_COUNT (sizeof types / sizeof *types)

const tn_file_type *tn_file_type_named(const char *name)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

const tn_file_type *tn_file_type_of(tenon_dtype dtype)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].dtype == dtype && dtype != TENON_DTYPE_INVALID)
            return &types[i];
    return NULL;
}
