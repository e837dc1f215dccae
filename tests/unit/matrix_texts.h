/* Layouts of matrix operands in the lanes of matrix units, transcribed from the vendors' documents
 * with their formulas and names. Shares no code with cl_kernels/matrix/layout.h. */
#ifndef TESTS_UNIT_MATRIX_TEXTS_H
#define TESTS_UNIT_MATRIX_TEXTS_H

#include <stdbool.h>

typedef struct place {
    int row, col;
} place;

/* Returns the position of element i of a lane. */
typedef place (*formula)(int laneid, int i);

/* The documented layout of one instruction. */
typedef struct matrix_text {
    const char *instruction;
    int unit, type; /* of matrix/layout.h */
    int m, n, k, lanes, a_items, b_items, d_items, copies;
    formula a, b, d;
    bool reorders_k; /* Tenon uses another order of K */
} matrix_text;

/* PTX ISA, wgmma's operands in shared memory, in bytes: returns the position of the element in row
 * (for B, column) mn and step k of the operand that begins at `start`, with rows swizzled in 32, 64
 * or 128 bytes. */
int ptx_wgmma_byte(int swizzle, bool mn_major, int bits, int start, int mn, int k, int leading,
                   int stride);
unsigned long long ptx_wgmma_descriptor(unsigned address, unsigned leading, unsigned stride,
                                        int swizzle);

extern const matrix_text matrix_texts[];
extern const int matrix_text_count;

#endif
