/* Matrix fragments in the registers of a warp's lanes, by the formulas of the PTX ISA. */
#ifndef PTX_MATRIX_H
#define PTX_MATRIX_H

#include "internal.h"

typedef struct place {
    int row, col;
} place;

/* Return the position of element i of a lane's fragment: of A with k columns, of B with k rows, and
 * of C and D. `m` is 8 or 16. */
place fragment_a(ptx_type type, int k, int lane, int i);
place fragment_b(ptx_type type, int k, int lane, int i);
place fragment_d(int m, int lane, int i);

/* Return the number of elements in a register, and the bits of one of them. */
int elements_of(ptx_type type);
uint32_t element_bits(ptx_type type, uint64_t value, int i);

/* Adds a product to an accumulator of the given type. f32 is truncated to its bits, the least
 * accurate behavior that a unit may have; integers are exact. */
double added(ptx_type type, double sum, double a, double b);
uint64_t accumulator_bits(const ptx_instruction *i, double sum);
double accumulator_value(ptx_type type, uint64_t bits);

/* defined in async.c */
product *begin_product(machine *m, warp *w);
void take_piece(machine *m, warp *w, product *p, uint32_t at);

#endif
