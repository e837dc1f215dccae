#include "base/dtype.h"

#include <math.h>
#include <string.h>

typedef struct dtype_traits {
    const char *name;
    size_t size;
} dtype_traits;

static const dtype_traits traits[] = {
    [TENON_DTYPE_INVALID] = {"invalid", 0}, [TENON_DTYPE_F64] = {"f64", 8},
    [TENON_DTYPE_F32] = {"f32", 4},         [TENON_DTYPE_F16] = {"f16", 2},
    [TENON_DTYPE_BF16] = {"bf16", 2},       [TENON_DTYPE_I8] = {"i8", 1},
    [TENON_DTYPE_U8] = {"u8", 1},           [TENON_DTYPE_I32] = {"i32", 4},
    [TENON_DTYPE_F8_E4M3] = {"f8_e4m3", 1}, [TENON_DTYPE_F8_E5M2] = {"f8_e5m2", 1},
    [TENON_DTYPE_I64] = {"i64", 8},         [TENON_DTYPE_I16] = {"i16", 2},
    [TENON_DTYPE_U16] = {"u16", 2},         [TENON_DTYPE_U32] = {"u32", 4},
    [TENON_DTYPE_BOOL] = {"bool", 1},
};

bool tn_dtype_valid(tenon_dtype dtype)
{
    return dtype > TENON_DTYPE_INVALID && (size_t)dtype < sizeof traits / sizeof *traits;
}

TENON_API size_t tenon_dtype_size(tenon_dtype dtype)
{
    return tn_dtype_valid(dtype) ? traits[dtype].size : 0;
}

TENON_API const char *tenon_dtype_string(tenon_dtype dtype)
{
    return traits[tn_dtype_valid(dtype) ? dtype : TENON_DTYPE_INVALID].name;
}

bool tn_dtype_is_float(tenon_dtype dtype)
{
    return dtype >= TENON_DTYPE_F64 && dtype <= TENON_DTYPE_BF16;
}

bool tn_dtype_is_integer(tenon_dtype dtype)
{
    return (dtype >= TENON_DTYPE_I8 && dtype <= TENON_DTYPE_I32) ||
           (dtype >= TENON_DTYPE_I64 && dtype <= TENON_DTYPE_U32);
}

bool tn_dtype_is_unsigned(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_U8 || dtype == TENON_DTYPE_U16 || dtype == TENON_DTYPE_U32 ||
           dtype == TENON_DTYPE_BOOL;
}

/* Rounds a positive finite value to a 16-bit binary format with `mantissa` stored bits and exponent
 * bias `bias`. Works on the double itself, since a conversion to float first would round twice. */
static uint16_t encode16(double value, int mantissa, int bias)
{
    int exponent;
    frexp(value, &exponent);
    exponent -= 1; /* value = 1.xxx · 2^exponent */
    if (exponent < 1 - bias)
        exponent = 1 - bias; /* subnormal: same spacing as the smallest normal */
    /* nearbyint rounds ties to even in the default rounding mode. The scaled value is exact in a
     * double. */
    double units = nearbyint(ldexp(value, mantissa - exponent));
    double whole = units + ldexp((double)(exponent + bias - 1), mantissa);
    double infinity = ldexp((double)(2 * bias + 1), mantissa);
    return (uint16_t)(whole < infinity ? whole : infinity);
}

static uint16_t round16(double value, int mantissa, int bias)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)((2 * bias + 1) << mantissa);
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1 << (mantissa - 1));
    if (isinf(value))
        return sign | infinity;
    return sign | (value == 0 ? 0 : encode16(fabs(value), mantissa, bias));
}

static double decode16(uint16_t bits, int mantissa, int bias)
{
    int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double magnitude;
    if (exponent == 2 * bias + 1)
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, 1 - bias - mantissa);
    else
        magnitude = ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t tn_f16_from_double(double value)
{
    return round16(value, 10, 15);
}

uint16_t tn_bf16_from_double(double value)
{
    return round16(value, 7, 127);
}

double tn_f16_to_double(uint16_t bits)
{
    return decode16(bits, 10, 15);
}

double tn_bf16_to_double(uint16_t bits)
{
    return decode16(bits, 7, 127);
}

/* Returns the smallest and largest values of an integer type. */
static int64_t least(tenon_dtype dtype)
{
    return tn_dtype_is_unsigned(dtype) ? 0 : -(INT64_C(1) << (8 * tenon_dtype_size(dtype) - 2)) * 2;
}

static int64_t most(tenon_dtype dtype)
{
    const int bits = 8 * (int)tenon_dtype_size(dtype) - (tn_dtype_is_unsigned(dtype) ? 0 : 1);
    return (int64_t)((UINT64_C(1) << bits) - 1);
}

/* The limit is compared before the conversion, because 2^63 - 1 is not a double. */
static int64_t saturate(tenon_dtype dtype, double value)
{
    if (isnan(value))
        return 0;
    const double whole = nearbyint(value);
    if (whole >= (double)most(dtype))
        return most(dtype);
    return whole <= (double)least(dtype) ? least(dtype) : (int64_t)whole;
}

/* Storage for an element of any type. */
typedef union element_bits {
    double f64;
    float f32;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
} element_bits;

static void store_bits(tenon_dtype dtype, void *element, uint64_t value)
{
    const size_t size = tenon_dtype_size(dtype);
    element_bits bits = {.u64 = value};
    if (size == 1)
        bits.u8 = (uint8_t)value;
    else if (size == 2)
        bits.u16 = (uint16_t)value;
    else if (size == 4)
        bits.u32 = (uint32_t)value;
    memcpy(element, &bits, size);
}

static uint64_t load_bits(tenon_dtype dtype, const void *element)
{
    const size_t size = tenon_dtype_size(dtype);
    element_bits bits = {.u64 = 0};
    memcpy(&bits, element, size);
    return size == 1 ? bits.u8 : size == 2 ? bits.u16 : size == 4 ? bits.u32 : bits.u64;
}

void tn_dtype_store_whole(tenon_dtype dtype, void *element, int64_t value)
{
    store_bits(dtype, element, dtype == TENON_DTYPE_BOOL ? value != 0 : (uint64_t)value);
}

int64_t tn_dtype_load_whole(tenon_dtype dtype, const void *element)
{
    const uint64_t bits = load_bits(dtype, element);
    if (dtype == TENON_DTYPE_BOOL)
        return bits != 0;
    return bits > (uint64_t)most(dtype) ? (int64_t)(bits - 2 * ((uint64_t)most(dtype) + 1))
                                        : (int64_t)bits;
}

void tn_dtype_store(tenon_dtype dtype, void *element, double value)
{
    element_bits bits = {.u64 = 0};
    switch (dtype) {
    case TENON_DTYPE_F64:
        bits.f64 = value;
        break;
    case TENON_DTYPE_F32:
        bits.f32 = (float)value;
        break;
    case TENON_DTYPE_F16:
        bits.u16 = tn_f16_from_double(value);
        break;
    case TENON_DTYPE_BF16:
        bits.u16 = tn_bf16_from_double(value);
        break;
    case TENON_DTYPE_BOOL:
        bits.u8 = value != 0;
        break;
    default:
        if (tn_dtype_is_integer(dtype))
            tn_dtype_store_whole(dtype, element, saturate(dtype, value));
        return;
    }
    memcpy(element, &bits, tenon_dtype_size(dtype));
}

double tn_dtype_load(tenon_dtype dtype, const void *element)
{
    element_bits bits = {.u64 = 0};
    switch (dtype) {
    case TENON_DTYPE_F64:
        memcpy(&bits.f64, element, sizeof bits.f64);
        return bits.f64;
    case TENON_DTYPE_F32:
        memcpy(&bits.f32, element, sizeof bits.f32);
        return bits.f32;
    case TENON_DTYPE_F16:
        return tn_f16_to_double((uint16_t)load_bits(dtype, element));
    case TENON_DTYPE_BF16:
        return tn_bf16_to_double((uint16_t)load_bits(dtype, element));
    default:
        return tn_dtype_is_integer(dtype) || dtype == TENON_DTYPE_BOOL
                   ? (double)tn_dtype_load_whole(dtype, element)
                   : (double)NAN;
    }
}
