/* Fragments of matrices in the registers of a warp's lanes, by the PTX ISA's formulas. */
#ifndef PTX_MATRIX_H
#define PTX_MATRIX_H

#include "internal.h"

typedef struct place {
    int row, col;
} place;

/* Where element i of a lane's part of A, of a matrix with k columns, lies; of B, with k rows; of C
 * and D. `m` is 8 or 16. */
place fragment_a(ptx_type type, int k, int lane, int i);
place fragment_b(ptx_type type, int k, int lane, int i);
place fragment_d(int m, int lane, int i);

/* Elements in a register, and one of them by its bits. */
int elements_of(ptx_type type);
uint32_t element_bits(ptx_type type, uint64_t value, int i);

/* A product and a sum as an accumulator of the type keeps it: of f32 cut to its bits, the worst
 * that a unit may do; whole numbers exactly. */
double added(ptx_type type, double sum, double a, double b);
uint64_t accumulator_bits(const ptx_instruction *i, double sum);
double accumulator_value(ptx_type type, uint64_t bits);

/* async.c */
product *begin_product(machine *m, warp *w);
void take_piece(machine *m, warp *w, product *p, uint32_t at);

#endif
