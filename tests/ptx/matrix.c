/* mma.sync, ldmatrix and stmatrix of the interpreter. */
#include "matrix.h"

#include <math.h>
#include <string.h>

/* Names from the PTX ISA: groupID = %laneid >> 2, threadID_in_group = %laneid % 4. */
#define GROUP(lane)  ((lane) >> 2)
#define THREAD(lane) ((lane)&3)

int elements_of(ptx_type type)
{
    return type.bits == 19 ? 1 : 32 / type.bits;
}

uint32_t element_bits(ptx_type type, uint64_t value, int i)
{
    if (type.bits >= 19)
        return (uint32_t)value;
    return (uint32_t)(value >> (i * type.bits)) & ((1u << type.bits) - 1);
}

/* "Matrix Fragments for mma.m16n8k8" (.f16, .bf16; .tf32), "... m16n8k16" (16 bits; 8 bits),
 * "... m16n8k4" (.tf32), "... m16n8k32", "... m8n8k16". */
place fragment_a(ptx_type type, int k, int lane, int i)
{
    const int group = GROUP(lane), thread = THREAD(lane);
    if (type.bits == 19) /* a0: (group, thread), a1: + 8 rows, a2: + 4 columns, a3: both */
        return (place){group + (i & 1 ? 8 : 0), thread + (i >= 2 ? 4 : 0)};
    if (type.bits == 16) {
        const bool upper = k == 8 ? i >= 2 : (i >= 2 && i < 4) || i >= 6;
        return (place){group + (upper ? 8 : 0), thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    }
    const bool upper = k == 16 ? i >= 4 : (i >= 4 && i < 8) || i >= 12;
    return (place){group + (upper ? 8 : 0), thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}

place fragment_b(ptx_type type, int k, int lane, int i)
{
    const int group = GROUP(lane), thread = THREAD(lane);
    (void)k;
    if (type.bits == 19)
        return (place){thread + (i >= 1 ? 4 : 0), group};
    if (type.bits == 16)
        return (place){thread * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
    return (place){thread * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
}

place fragment_d(int m, int lane, int i)
{
    const bool upper = m == 16 && i >= 2;
    return (place){GROUP(lane) + (upper ? 8 : 0), THREAD(lane) * 2 + (i & 1)};
}

double added(ptx_type type, double sum, double a, double b)
{
    uint64_t bits;
    sum += a * b;
    if (type.kind != PTX_FLOAT || !isfinite(sum) || fabs(sum) < 0x1p-126)
        return sum;
    memcpy(&bits, &sum, sizeof bits);
    bits &= ~(uint64_t)0x1fffffff; /* keep 23 of the 52 fraction bits */
    memcpy(&sum, &bits, sizeof bits);
    return sum;
}

uint64_t accumulator_bits(const ptx_instruction *i, double sum)
{
    const ptx_type type = i->types[0];
    if (type.kind == PTX_FLOAT)
        return from_double(type, sum, PTX_RN);
    if (i->flags & PTX_SAT)
        sum = fmin(fmax(sum, -0x1p31), 0x1p31 - 1);
    return (uint32_t)(int64_t)sum;
}

double accumulator_value(ptx_type type, uint64_t bits)
{
    return type.kind == PTX_FLOAT ? to_double(type, bits) : (double)(int32_t)bits;
}

/* Returns true for existing instructions, by the size of an element of A and B. */
static bool is_known(const ptx_instruction *i)
{
    const int m = i->shape[0], n = i->shape[1], k = i->shape[2];
    const ptx_type a = i->types[1], b = i->types[2], d = i->types[0];
    if (i->type_count != 4 || n != 8 || a.bits != b.bits || (a.bits > 8 && a.kind != b.kind) ||
        i->types[3].bits != d.bits || i->types[3].kind != d.kind)
        return false;
    if (a.bits == 8)
        return d.kind == PTX_SIGNED && d.bits == 32 &&
               ((m == 16 && (k == 16 || k == 32)) || (m == 8 && k == 16));
    if (d.kind != PTX_FLOAT || m != 16)
        return false;
    if (a.bits == 16)
        return (k == 8 || k == 16) && (d.bits == 32 || (d.bits == 16 && a.kind == PTX_FLOAT));
    return a.bits == 19 && (k == 4 || k == 8) && d.bits == 32;
}

/* Reads the elements of each lane's registers in order. */
static int read_fragment(machine *m, warp *w, const ptx_operand *o, ptx_type type, int count,
                         double values[LANES][16])
{
    const int each = elements_of(type);
    if (o->form != PTX_VECTOR || o->number * each != count)
        machine_fail(m, 0, "a factor of %d registers instead of %d",
                     o->form == PTX_VECTOR ? o->number : 1, count / each);
    for (int r = 0; r < o->number; r++) {
        lanes room;
        const uint64_t *words = fetch(m, w, &o->elements[r], room);
        for (int l = 0; l < LANES; l++)
            for (int e = 0; e < each; e++) {
                const uint32_t bits = element_bits(type, words[l], e);
                values[l][r * each + e] = type.kind == PTX_SIGNED && type.bits == 32
                                              ? (double)(int32_t)bits
                                              : (double)element_value(type, bits);
            }
    }
    return count;
}

static void write_fragment(machine *m, warp *w, const ptx_instruction *i, double values[LANES][16],
                           int count)
{
    const ptx_type type = i->types[0];
    const int each = elements_of(type);
    for (int r = 0; r < count / each; r++) {
        lanes words = {0};
        for (int l = 0; l < LANES; l++)
            for (int e = 0; e < each; e++)
                words[l] |= accumulator_bits(i, values[l][r * each + e]) << (e * type.bits % 32);
        put(m, w, &i->operands[0].elements[r], words, 0xffffffffu);
    }
}

/* d = a · b + c */
void run_mma(machine *m, warp *w, const ptx_instruction *i)
{
    const int rows = i->shape[0], k = i->shape[2], d_count = rows * 8 / LANES;
    const ptx_type type = i->types[1];
    double of_a[LANES][16] = {{0}}, of_b[LANES][16] = {{0}}, of_c[LANES][16] = {{0}}, a[16][32],
           b[32][8];
    if (!is_known(i))
        machine_fail(m, 0, "mma does not support this shape and these types");
    const int a_count = read_fragment(m, w, &i->operands[1], i->types[1], rows * k / LANES, of_a);
    const int b_count = read_fragment(m, w, &i->operands[2], i->types[2], 8 * k / LANES, of_b);
    read_fragment(m, w, &i->operands[3], i->types[3], d_count, of_c);
    if (i->operands[0].form != PTX_VECTOR ||
        i->operands[0].number * elements_of(i->types[0]) != d_count)
        machine_fail(m, 0, "a result of %d registers", i->operands[0].number);
    for (int l = 0; l < LANES; l++) {
        for (int e = 0; e < a_count; e++) {
            const place at = fragment_a(type, k, l, e);
            a[at.row][at.col] = of_a[l][e];
        }
        for (int e = 0; e < b_count; e++) {
            const place at = fragment_b(type, k, l, e);
            b[at.row][at.col] = of_b[l][e];
        }
    }
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < d_count; e++) {
            const place at = fragment_d(rows, l, e);
            for (int n = 0; n < k; n++)
                of_c[l][e] = added(i->types[0], of_c[l][e], a[at.row][n], b[n][at.col]);
        }
    write_fragment(m, w, i, of_c, d_count);
    m->counts->products++;
}

/* ldmatrix and stmatrix: lane 8 n + r provides the address of row r of matrix n. Lane l holds the
 * two elements in columns 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; with .trans, of the transposed
 * matrix. */
static uint32_t row_address(machine *m, warp *w, const ptx_operand *at, int matrix, int row)
{
    const int lane = 8 * matrix + row;
    const uint64_t address = address_of(m, w, at, lane);
    if (address % 16 != 0)
        machine_fail(m, lane, "a row at %#llx, which is not a multiple of 16",
                     (unsigned long long)address);
    check_shared(m, address, 16, lane);
    return (uint32_t)address;
}

/* Returns the number of matrices. The addresses of all lanes that provide one must be valid: for
 * .x1 lanes 0 to 7. */
static int matrix_count(machine *m, const ptx_instruction *i)
{
    if (i->types[0].bits != 16 || (i->vector != 1 && i->vector != 2 && i->vector != 4) ||
        i->space != PTX_SHARED)
        machine_fail(m, 0, "this form of the instruction is not supported");
    return i->vector;
}

void run_ldmatrix(machine *m, warp *w, const ptx_instruction *i)
{
    const int count = matrix_count(m, i);
    const ptx_operand *to = &i->operands[0], *at = &i->operands[1];
    if (at->has_register)
        touch(m, w, at->number);
    for (int n = 0; n < count; n++) {
        uint16_t matrix[8][8];
        lanes words;
        for (int row = 0; row < 8; row++) {
            const uint32_t address = row_address(m, w, at, n, row);
            note_read(m, address, 16, 8 * n + row);
            memcpy(matrix[row], m->shared + address, 16);
        }
        for (int l = 0; l < LANES; l++) {
            const int row = l / 4, col = 2 * (l % 4);
            const bool turned = (i->flags & PTX_TRANS) != 0;
            const uint32_t low = turned ? matrix[col][row] : matrix[row][col];
            const uint32_t high = turned ? matrix[col + 1][row] : matrix[row][col + 1];
            words[l] = low | high << 16;
        }
        put(m, w, to->form == PTX_VECTOR ? &to->elements[n] : to, words, 0xffffffffu);
    }
}

void run_stmatrix(machine *m, warp *w, const ptx_instruction *i)
{
    const int count = matrix_count(m, i);
    const ptx_operand *at = &i->operands[0], *from = &i->operands[1];
    if (at->has_register)
        touch(m, w, at->number);
    for (int n = 0; n < count; n++) {
        uint16_t matrix[8][8];
        lanes room;
        const uint64_t *words =
            fetch(m, w, from->form == PTX_VECTOR ? &from->elements[n] : from, room);
        for (int l = 0; l < LANES; l++)
            for (int e = 0; e < 2; e++) {
                const int row = l / 4, col = 2 * (l % 4) + e;
                const uint16_t value = (uint16_t)(words[l] >> (16 * e));
                if (i->flags & PTX_TRANS)
                    matrix[col][row] = value;
                else
                    matrix[row][col] = value;
            }
        for (int row = 0; row < 8; row++) {
            const uint32_t address = row_address(m, w, at, n, row);
            note_write(m, address, 16, 8 * n + row, matrix[row]);
            memcpy(m->shared + address, matrix[row], 16);
        }
    }
}
