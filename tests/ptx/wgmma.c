/* wgmma.mma_async of the interpreter: products of four warps. The second factor is in shared
 * memory; the first is there or in registers. Each warp computes its 16 of 64 rows independently,
 * since nothing in the PTX ISA makes the four wait for one another.
 *
 * PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout": "Strides", "Canonical
 * Layouts", "Matrix Descriptor Format". A factor has an "MN" index (row of A, column of B) and an
 * index k; T elements are 16 bytes. In units of 16 bytes, from the start of the matrix:
 *
 *   K-major, no swizzle   ((8, m), (T, 2)) : ((1T, SBO), (1, LBO))
 *   K-major, 32 bytes     ((8, m), (T, 2)) : ((2T, SBO), (1, T)), 64 bytes 4T, 128 bytes 8T
 *   MN-major, no swizzle  ((T, 1, m), (8, k)) : ((1, T, SBO), (1T, LBO))
 *   MN-major, 32 bytes    ((T, 2, m), (8, k)) : ((1, T, LBO), (2T, SBO)), 64 bytes 4, 128 bytes 8
 *
 * Swizzling replaces one, two or three address bits from bit 4 on by their exclusive or with the
 * bits from bit 7 on. */
#include "matrix.h"

#include <stdlib.h>
#include <string.h>

typedef struct descriptor {
    uint32_t start, leading, stride; /* bytes */
    uint32_t base;                   /* phase of the swizzle pattern, in units of 128 bytes */
    int swizzle;                     /* bits: 0 to 3 for none, 32, 64, 128 bytes */
    bool mn_major;
    int each; /* elements in 16 bytes */
} descriptor;

/* Bits 13-0: start; 29-16: leading dimension offset; 45-32: stride dimension offset, each without
 * its 4 lowest bits; 51-49: base offset; 63-62: mode, 1 for 128 bytes, 2 for 64, 3 for 32. */
static descriptor decode(machine *m, uint64_t bits, ptx_type type, bool mn_major)
{
    static const int swizzles[] = {0, 3, 2, 1};
    const descriptor d = {.start = (uint32_t)(bits & 0x3fff) << 4,
                          .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                          .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                          .base = (uint32_t)(bits >> 49 & 7),
                          .swizzle = swizzles[bits >> 62],
                          .mn_major = mn_major,
                          .each = type.bits == 19 ? 4 : 128 / type.bits};
    const uint64_t unused =
        (uint64_t)3 << 14 | (uint64_t)3 << 30 | (uint64_t)7 << 46 | (uint64_t)0x3ff << 52;
    if (bits & unused)
        machine_fail(m, 0, "the descriptor %#llx has undefined bits set", (unsigned long long)bits);
    if (d.swizzle == 0 && d.base != 0)
        machine_fail(m, 0, "a descriptor without swizzle has the base offset %u", d.base);
    return d;
}

/* Returns the address of the 16 bytes that hold this element. */
static uint32_t piece_of(const descriptor *d, int mn, int k)
{
    const uint32_t wide = 1u << d->swizzle; /* pieces of a swizzled row */
    const uint32_t chunk = (uint32_t)(d->mn_major ? mn : k) / (uint32_t)d->each;
    const uint32_t line = (uint32_t)(d->mn_major ? k : mn);
    uint32_t at = d->start;
    if (d->mn_major && d->swizzle == 0)
        at += line % 8 * 16 + line / 8 * d->leading + chunk * d->stride;
    else if (d->mn_major)
        at += line % 8 * 16 * wide + line / 8 * d->stride + chunk % wide * 16 +
              chunk / wide * d->leading;
    else if (d->swizzle == 0)
        at += line % 8 * 16 + line / 8 * d->stride + chunk * d->leading;
    else
        at += line % 8 * 16 * wide + line / 8 * d->stride + chunk * 16;
    /* The base offset determines where the pattern begins: at multiples of 1024, 512 or 256 bytes
     * if it is 0. */
    const uint32_t phase = ((at >> 7) - d->base) & (wide - 1);
    return at ^ phase << 4;
}

/* Reads elements [first, first + count) x k of a factor in shared memory as numbers. */
static void read_factor(machine *m, warp *w, product *p, const descriptor *d, ptx_type type,
                        int first, int count, int k, double *values)
{
    const int each = d->each;
    const size_t size = 16 / (size_t)each;
    const int lines = d->mn_major ? k : count, along = d->mn_major ? count : k;
    for (int line = 0; line < lines; line++)
        for (int e = 0; e < along; e += each) {
            const int mn = d->mn_major ? e : line, at_k = d->mn_major ? line : e;
            const uint32_t at = piece_of(d, first + mn, at_k);
            take_piece(m, w, p, at);
            for (int n = 0; n < each; n++) {
                uint32_t bits = 0;
                memcpy(&bits, m->shared + at + (size_t)n * size, size);
                const int at_value = d->mn_major ? (mn + n) * k + at_k : mn * k + at_k + n;
                values[at_value] = (double)element_value(type, bits);
            }
        }
}

/* Assigns registers to a product, after checking that a fence orders their earlier uses. */
static void take_registers(machine *m, warp *w, const product *p, const ptx_operand *o)
{
    for (int r = 0; r < o->number; r++) {
        const int number = o->elements[r].number;
        if (o->elements[r].form != PTX_REGISTER)
            machine_fail(m, 0, "an accumulator is not a register");
        if (w->touched[number] > w->fence)
            machine_fail(m, 0, "registers have been accessed after the last wgmma.fence");
        w->taken[number] = p->serial;
    }
}

/* Reads A from registers, with the fragments of mma's m16n8k*. */
static void read_registers(machine *m, warp *w, const ptx_operand *o, ptx_type type, int k,
                           double *values)
{
    const int each = elements_of(type);
    if (o->number * each != 16 * k / LANES)
        machine_fail(m, 0, "a factor of %d registers", o->number);
    for (int r = 0; r < o->number; r++)
        for (int l = 0; l < LANES; l++)
            for (int e = 0; e < each; e++) {
                const place at = fragment_a(type, k, l, r * each + e);
                const uint32_t bits = element_bits(type, w->r[o->elements[r].number][l], e);
                values[at.row * k + at.col] = (double)element_value(type, bits);
            }
}

/* The decoded operands: m64nNk* d, a, b, scale-d; for floating point also the signs of the factors,
 * and for 16 bits whether they are stored across K. */
typedef struct call {
    int n, k, signs[2];
    bool across[2], adds, a_in_registers;
    ptx_type a, b, d;
} call;

static int64_t immediate(machine *m, const ptx_instruction *i, int number)
{
    if (number >= i->operand_count || i->operands[number].form != PTX_IMMEDIATE)
        machine_fail(m, 0, "operand %d is not a number", number);
    return (int64_t)i->operands[number].value;
}

static call read_call(machine *m, warp *w, const ptx_instruction *i)
{
    lanes room;
    call c = {.n = i->shape[1],
              .k = i->shape[2],
              .signs = {1, 1},
              .a_in_registers = i->operands[1].form == PTX_VECTOR,
              .d = i->types[0],
              .a = i->types[1],
              .b = i->types[2]};
    const int k = c.a.bits == 19 ? 8 : 256 / c.a.bits;
    const bool is_whole = c.a.bits == 8;
    const bool fits = is_whole ? c.d.kind == PTX_SIGNED && c.n % 8 == 0 &&
                                     (c.n <= 24 || c.n == 32 || c.n % 16 == 0)
                               : c.d.kind == PTX_FLOAT && c.n % 8 == 0 && c.a.kind == c.b.kind;
    if (i->type_count != 3 || i->shape[0] != 64 || c.k != k || c.n < 8 || c.n > 256 || !fits ||
        c.a.bits != c.b.bits || i->operand_count < 4 || (c.d.bits != 32 && c.d.bits != 16))
        machine_fail(m, 0, "wgmma does not support this shape and these types");
    c.adds = fetch(m, w, &i->operands[3], room)[0] & 1;
    int next = 4;
    for (int f = 0; f < 2 && !is_whole; f++)
        c.signs[f] = (int)immediate(m, i, next++);
    for (int f = c.a_in_registers; f < 2 && c.a.bits == 16; f++)
        c.across[f] = immediate(m, i, next++) != 0;
    if (next != i->operand_count || abs(c.signs[0]) != 1 || abs(c.signs[1]) != 1)
        machine_fail(m, 0, "%d operands, expected %d", i->operand_count, next);
    return c;
}

/* Records the operands that must be the same in the four warps of a warpgroup. */
static void note_factors(machine *m, warp *w, const ptx_instruction *i, uint64_t a, uint64_t b)
{
    const uint64_t noted[4] = {(uint64_t)(i - m->program->instructions), a, b, 0};
    if (w->descriptor_count + 4 > w->descriptor_capacity) {
        w->descriptor_capacity = 2 * w->descriptor_capacity + 256;
        w->descriptors =
            realloc(w->descriptors, (size_t)w->descriptor_capacity * sizeof *w->descriptors);
        if (w->descriptors == NULL)
            machine_fail(m, 0, "out of memory");
    }
    memcpy(w->descriptors + w->descriptor_count, noted, sizeof noted);
    w->descriptor_count += 4;
}

static uint64_t same_in_all_lanes(machine *m, warp *w, const ptx_operand *o)
{
    lanes room;
    const uint64_t *values = fetch(m, w, o, room);
    for (int l = 1; l < LANES; l++)
        if (values[l] != values[0])
            machine_fail(m, l, "its descriptor differs from the other lanes'");
    return values[0];
}

/* PTX ISA, "Register Fragments for wgmma.mma_async": for D, element i of lane l of warp w % 4 is in
 * row 16 (w % 4) + l / 4 + 8 (i / 2 % 2) and column 8 (i / 4) + 2 (l % 4) + i % 2. */
static void add_products(warp *w, const ptx_instruction *i, const call *c, const double *a,
                         const double *b)
{
    const ptx_operand *d = &i->operands[0];
    const int each = c->d.bits == 16 ? 2 : 1;
    for (int l = 0; l < LANES; l++)
        for (int e = 0; e < c->n / 2; e++) {
            uint64_t *word = &w->r[d->elements[e / each].number][l];
            const int shift = e % each * 16;
            const int row = l / 4 + 8 * (e / 2 % 2), col = 8 * (e / 4) + 2 * (l % 4) + e % 2;
            const uint64_t mask = each == 2 ? (uint64_t)0xffff << shift : 0xffffffffu;
            double sum = c->adds ? accumulator_value(c->d, (*word & mask) >> shift) : 0;
            for (int k = 0; k < c->k; k++)
                sum = added(c->d, sum, c->signs[0] * a[row * c->k + k],
                            c->signs[1] * b[col * c->k + k]);
            *word = (*word & ~mask) | (accumulator_bits(i, sum) << shift & mask);
        }
}

void multiply_group(machine *m, warp *w, const ptx_instruction *i)
{
    static double a[16 * 32], b[256 * 32];
    const call c = read_call(m, w, i);
    const ptx_operand *d = &i->operands[0];
    if (d->form != PTX_VECTOR || d->number != c.n * c.d.bits / 64)
        machine_fail(m, 0, "%d accumulators", d->number);
    if (w->fence == 0)
        machine_fail(m, 0, "no wgmma.fence precedes it");
    if (m->warp_count % 4 != 0)
        machine_fail(m, 0, "a group of %d warps", m->warp_count);
    const uint64_t of_b = same_in_all_lanes(m, w, &i->operands[2]);
    uint64_t of_a = 0;
    if (!c.a_in_registers)
        of_a = same_in_all_lanes(m, w, &i->operands[1]);
    note_factors(m, w, i, of_a, of_b);
    product *p = begin_product(m, w);
    take_registers(m, w, p, d);
    if (c.a_in_registers) {
        take_registers(m, w, p, &i->operands[1]);
        read_registers(m, w, &i->operands[1], c.a, c.k, a);
    } else {
        const descriptor at = decode(m, of_a, c.a, c.across[0]);
        read_factor(m, w, p, &at, c.a, w->number % 4 * 16, 16, c.k, a);
    }
    const descriptor at = decode(m, of_b, c.b, c.across[1]);
    read_factor(m, w, p, &at, c.b, 0, c.n, c.k, b);
    add_products(w, i, &c, a, b);
}
