/* What the vendors' texts say of where elements lie in the lanes of matrix units, in their own
 * words and names: a transcription that shares nothing with cl_kernels/matrix/layout.h. */
#ifndef TESTS_UNIT_MATRIX_TEXTS_H
#define TESTS_UNIT_MATRIX_TEXTS_H

#include <stdbool.h>

typedef struct place {
    int row, col;
} place;

/* Where element i of a lane lies. */
typedef place (*formula)(int laneid, int i);

/* What the texts say of an instruction. */
typedef struct matrix_text {
    const char *instruction;
    int unit, type; /* of matrix/layout.h */
    int m, n, k, lanes, a_items, b_items, d_items, copies;
    formula a, b, d;
    bool reorders_k; /* Tenon has another order of K */
} matrix_text;

/* PTX ISA, wgmma's matrices in local memory, in bytes: where the element of row (of B, column) mn
 * and step k lies that begins at `start`, whose rows are swizzled in 32, 64 or 128 bytes. */
int ptx_wgmma_byte(int swizzle, bool mn_major, int bits, int start, int mn, int k, int leading,
                   int stride);
unsigned long long ptx_wgmma_descriptor(unsigned address, unsigned leading, unsigned stride,
                                        int swizzle);

extern const matrix_text matrix_texts[];
extern const int matrix_text_count;

#endif
