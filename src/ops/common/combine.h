/* Combinations of elements by a sum, product, maximum or minimum, for the references of scans and
 * of reductions of segments. docs/numerics.md derives the bounds. */
#ifndef TN_OPS_COMMON_COMBINE_H
#define TN_OPS_COMMON_COMBINE_H

#include "check/bounds.h"

/* The kinds are numbered as in tenon_scan_kind and tenon_segment_kind. */
enum { TN_COMBINE_SUM, TN_COMBINE_PRODUCT, TN_COMBINE_MAX, TN_COMBINE_MIN };

/* The combination of the elements so far, and what its bound needs. */
typedef struct tn_combine {
    tenon_dtype dtype;
    uint32_t kind;
    int64_t whole;      /* of integers, modulo the size of the type */
    double value, rest; /* of reals; a sum is value + rest (Knuth's two-sum) */
    double count;       /* of elements */
    double magnitude;   /* of a sum's terms */
    /* Logarithms to base 2 of the products of all ranges that end here: the greatest and the least,
     * and the extremes of all ranges so far. */
    double high, low, highest, lowest;
} tn_combine;

/* Begins with the identity of a kind. */
tn_combine tn_combine_begin(tenon_dtype dtype, uint32_t kind);

/* Adds the element at `element`, or its product with a real weight. */
void tn_combine_element(tn_combine *s, const void *element, double weight);

/* Returns the largest number of roundings that a term of a combination of `count` elements passes
 * through, if `before` elements precede its last one in the same row. */
double tn_combine_depth(double count, double before);

/* Returns the result, before it is rounded to a 16-bit type, with the bound for this number of
 * roundings. */
tn_bounded tn_combine_result(const tn_combine *s, double depth);

#endif
