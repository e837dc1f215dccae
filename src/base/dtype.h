/* Element types: conversion between a double and an element's bits. */
#ifndef TN_BASE_DTYPE_H
#define TN_BASE_DTYPE_H

#include <tenon/tensor.h>

#include <stdbool.h>

bool tn_dtype_valid(tenon_dtype dtype);

/* Return true for f64, f32, f16 and bf16; for the integer types, without bool; for the unsigned
 * ones among them and bool. */
bool tn_dtype_is_float(tenon_dtype dtype);
bool tn_dtype_is_integer(tenon_dtype dtype);
bool tn_dtype_is_unsigned(tenon_dtype dtype);

/* Rounds to nearest, ties to even; overflow gives infinity. NaN is preserved. */
uint16_t tn_f16_from_double(double value);
uint16_t tn_bf16_from_double(double value);
double tn_f16_to_double(uint16_t bits);
double tn_bf16_to_double(uint16_t bits);

/* Stores `value` to `element` as an element of `dtype`, rounded as above. Integers saturate, and
 * NaN becomes 0. A bool is value != 0. */
void tn_dtype_store(tenon_dtype dtype, void *element, double value);

/* Returns an element as a double. Only i64 may be rounded. */
double tn_dtype_load(tenon_dtype dtype, const void *element);

/* Stores an integer to an element of an integer type or of bool: the lowest bits, or value != 0. */
void tn_dtype_store_whole(tenon_dtype dtype, void *element, int64_t value);

/* Returns an element of an integer type or of bool. */
int64_t tn_dtype_load_whole(tenon_dtype dtype, const void *element);

#endif
