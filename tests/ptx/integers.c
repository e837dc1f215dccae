/* Integer and bit arithmetic of the interpreter. */
#include "internal.h"

#include <string.h>

static unsigned count_bits(uint64_t x)
{
    unsigned count = 0;
    for (; x != 0; x &= x - 1)
        count++;
    return count;
}

static uint64_t leading_zeros(uint64_t x, int bits)
{
    uint64_t count = 0;
    for (int b = bits - 1; b >= 0 && (x >> b & 1) == 0; b--)
        count++;
    return count;
}

static uint64_t reversed(uint64_t x, int bits)
{
    uint64_t y = 0;
    for (int b = 0; b < bits; b++)
        y |= (x >> b & 1) << (bits - 1 - b);
    return y;
}

static uint64_t high_product(ptx_type type, uint64_t a, uint64_t b)
{
    if (type.kind == PTX_SIGNED)
        return (uint64_t)(((int128)(int64_t)a * (int64_t)b) >> type.bits);
    return (uint64_t)(((uint128)a * b) >> type.bits);
}

static uint64_t multiplied(const ptx_instruction *i, uint64_t a, uint64_t b)
{
    return i->flags & PTX_HI ? high_product(i->types[0], a, b) : a * b;
}

/* PTX ISA leaves division by zero undefined; it returns all ones here. */
static uint64_t divided(ptx_type type, uint64_t a, uint64_t b, bool rest)
{
    if (b == 0)
        return ~(uint64_t)0;
    if (type.kind != PTX_SIGNED)
        return rest ? a % b : a / b;
    if ((int64_t)b == -1)
        return rest ? 0 : 0 - a;
    return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shifted_right(ptx_type type, uint64_t a, uint64_t by)
{
    if (by >= type.bits)
        return type.kind == PTX_SIGNED && (int64_t)a < 0 ? ~(uint64_t)0 : 0;
    return type.kind == PTX_SIGNED ? (uint64_t)((int64_t)a >> by) : a >> by;
}

/* bfe: extracts `length` bits from `start` on. For signed types the last extracted bit is the
 * sign. */
static uint64_t field(ptx_type type, uint64_t a, uint64_t start, uint64_t length)
{
    start &= 255;
    length &= 255;
    if (length == 0)
        return 0;
    const uint64_t sign = type.kind == PTX_SIGNED && (int64_t)a < 0 ? ~(uint64_t)0 : 0;
    uint64_t x = start >= type.bits ? sign : (uint64_t)((int64_t)extended(type, a) >> start);
    if (type.kind != PTX_SIGNED && start < type.bits)
        x = extended(type, a) >> start;
    if (length >= 64)
        return x;
    return type.kind == PTX_SIGNED ? (uint64_t)((int64_t)(x << (64 - length)) >> (64 - length))
                                   : x & (((uint64_t)1 << length) - 1);
}

static uint64_t inserted(uint64_t a, uint64_t into, uint64_t start, uint64_t length, int bits)
{
    start &= 255;
    length &= 255;
    if (start >= (uint64_t)bits || length == 0)
        return into;
    const uint64_t ones = length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1;
    return (into & ~(ones << start)) | (a & ones) << start;
}

/* prmt in its default mode: each nibble of c selects a byte of b:a, or its replicated sign. */
static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t bytes = (a & 0xffffffff) | b << 32;
    uint64_t result = 0;
    for (int n = 0; n < 4; n++) {
        const uint64_t nibble = c >> (4 * n) & 15;
        uint64_t byte = bytes >> (8 * (nibble & 7)) & 255;
        if (nibble & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * n);
    }
    return result;
}

static uint64_t looked_up(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t result = 0;
    for (int n = 0; n < 8; n++)
        if (table >> n & 1)
            result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    return result;
}

static uint64_t funnelled(const ptx_instruction *i, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t both = (a & 0xffffffff) | b << 32;
    const uint64_t by = i->flags & PTX_WRAP ? c & 31 : (c & 0xffffffff) > 32 ? 32 : c & 0xffffffff;
    return i->flags & PTX_LEFT ? both << by >> 32 : both >> by;
}

/* Adds four products of bytes and a sum (dp4a). */
static uint64_t dotted(const ptx_instruction *i, uint64_t a, uint64_t b, uint64_t c)
{
    const ptx_type bytes[2] = {{i->types[0].kind, 8, 1}, {i->types[1].kind, 8, 1}};
    for (int n = 0; n < 4; n++)
        c += extended(bytes[0], a >> (8 * n)) * extended(bytes[1], b >> (8 * n));
    return c;
}

static uint64_t extreme(const ptx_instruction *i, uint64_t a, uint64_t b)
{
    const bool less = i->types[0].kind == PTX_SIGNED ? (int64_t)a < (int64_t)b : a < b;
    return less == (i->op == PTX_OP_min) ? a : b;
}

static uint64_t clamped(ptx_type type, int64_t x)
{
    const int64_t most = ((int64_t)1 << (type.bits - 1)) - 1;
    return (uint64_t)(x > most ? most : x < -most - 1 ? -most - 1 : x);
}

static uint64_t sum(const ptx_instruction *i, uint64_t a, uint64_t b)
{
    if (i->flags & PTX_SAT && i->types[0].bits == 32)
        return clamped(i->types[0], (int64_t)a + (int64_t)b);
    return a + b;
}

/* Computes one lane. Operands of signed types are sign-extended. */
static uint64_t compute(machine *m, const ptx_instruction *i, const uint64_t *o, int lane)
{
    const ptx_type type = i->types[0];
    switch (i->op) {
    case PTX_OP_add:
        return sum(i, o[0], o[1]);
    case PTX_OP_sub:
        return sum(i, o[0], 0 - o[1]);
    case PTX_OP_mul:
        return multiplied(i, o[0], o[1]);
    case PTX_OP_mad:
        return multiplied(i, o[0], o[1]) + o[2];
    case PTX_OP_div:
        return divided(type, o[0], o[1], false);
    case PTX_OP_rem:
        return divided(type, o[0], o[1], true);
    case PTX_OP_abs:
        return (int64_t)o[0] < 0 ? 0 - o[0] : o[0];
    case PTX_OP_neg:
        return 0 - o[0];
    case PTX_OP_min:
    case PTX_OP_max:
        return extreme(i, o[0], o[1]);
    case PTX_OP_and:
        return o[0] & o[1];
    case PTX_OP_or:
        return o[0] | o[1];
    case PTX_OP_xor:
        return o[0] ^ o[1];
    case PTX_OP_not:
        return ~o[0];
    case PTX_OP_shl:
        return (o[1] & 0xffffffff) >= type.bits ? 0 : o[0] << (o[1] & 63);
    case PTX_OP_shr:
        return shifted_right(type, o[0], o[1] & 0xffffffff);
    case PTX_OP_shf:
        return funnelled(i, o[0], o[1], o[2]);
    case PTX_OP_bfe:
        return field(type, o[0], o[1], o[2]);
    case PTX_OP_bfi:
        return inserted(o[0], o[1], o[2], o[3], type.bits);
    case PTX_OP_brev:
        return reversed(o[0], type.bits);
    case PTX_OP_popc:
        return count_bits(extended(type, o[0]));
    case PTX_OP_clz:
        return leading_zeros(o[0], type.bits);
    case PTX_OP_prmt:
        return permuted(o[0], o[1], o[2]);
    case PTX_OP_lop3:
        return looked_up(o[0], o[1], o[2], o[3]);
    case PTX_OP_dp4a:
        return dotted(i, o[0], o[1], o[2]);
    default:
        machine_fail(m, lane, "this form of the instruction is not supported");
    }
}

/* add.cc and related instructions of 32 and 64 bits, with one carry flag per lane. */
static void run_carry(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const bool subtracts = i->op == PTX_OP_sub || i->op == PTX_OP_subc;
    const bool takes = i->op == PTX_OP_addc || i->op == PTX_OP_subc;
    const int bits = i->types[0].bits;
    lanes room[2], result;
    const uint64_t *a = fetch(m, w, &i->operands[1], room[0]);
    const uint64_t *b = fetch(m, w, &i->operands[2], room[1]);
    const uint128 all = ((uint128)1 << bits) - 1;
    for (EACH_LANE(l, mask)) {
        const unsigned carry = takes ? w->carry >> l & 1 : 0;
        const uint128 x = a[l] & all, y = b[l] & all;
        const uint128 sum = subtracts ? x - y - carry : x + y + carry;
        result[l] = (uint64_t)(sum & all);
        if (i->flags & PTX_CC)
            w->carry = (w->carry & ~(1u << l)) | (uint32_t)(sum >> bits & 1) << l;
    }
    put(m, w, &i->operands[0], result, mask);
}

/* Returns true if the operand does not have the instruction's type: shift amounts, positions and
 * selectors. */
static bool is_amount(const ptx_instruction *i, int operand)
{
    switch (i->op) {
    case PTX_OP_shl:
    case PTX_OP_shr:
        return operand == 1;
    case PTX_OP_bfe:
        return operand >= 1;
    case PTX_OP_bfi:
    case PTX_OP_shf:
        return operand >= 2;
    case PTX_OP_mad:
        return operand == 2 && (i->flags & PTX_WIDE) != 0;
    case PTX_OP_lop3:
    case PTX_OP_prmt:
    case PTX_OP_dp4a:
        return true;
    default:
        return false;
    }
}

static void run_choice(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room[3], result;
    const uint64_t *a = fetch(m, w, &i->operands[1], room[0]);
    const uint64_t *b = fetch(m, w, &i->operands[2], room[1]);
    const uint64_t *c = fetch(m, w, &i->operands[3], room[2]);
    for (int l = 0; l < LANES; l++)
        result[l] = c[l] & 1 ? a[l] : b[l];
    put(m, w, &i->operands[0], result, mask);
}

static bool is_whole(const ptx_instruction *i)
{
    const ptx_type t = i->types[0];
    return i->type_count > 0 && t.count == 1 && t.kind != PTX_FLOAT && t.kind != PTX_BFLOAT;
}

/* Computes the most frequent instructions in all lanes at once: those that ignore the upper bits of
 * their operands and whose result is truncated. Returns false for other instructions. */
static bool compute_all(const ptx_instruction *i, const uint64_t *const *o, uint64_t *result)
{
    const bool is_low = (i->flags & (PTX_WIDE | PTX_HI | PTX_SAT)) == 0;
    if (i->op == PTX_OP_add && is_low)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] + o[1][l];
    else if (i->op == PTX_OP_sub && is_low)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] - o[1][l];
    else if (i->op == PTX_OP_mul && is_low)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] * o[1][l];
    else if (i->op == PTX_OP_mad && is_low)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] * o[1][l] + o[2][l];
    else if (i->op == PTX_OP_and)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] & o[1][l];
    else if (i->op == PTX_OP_or)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] | o[1][l];
    else if (i->op == PTX_OP_xor)
        for (int l = 0; l < LANES; l++)
            result[l] = o[0][l] ^ o[1][l];
    else
        return false;
    return true;
}

/* Returns the number of operands besides the result. */
static int operands_of(const ptx_instruction *i)
{
    switch (i->op) {
    case PTX_OP_abs:
    case PTX_OP_neg:
    case PTX_OP_not:
    case PTX_OP_brev:
    case PTX_OP_popc:
    case PTX_OP_clz:
        return 1;
    case PTX_OP_mad:
    case PTX_OP_shf:
    case PTX_OP_bfe:
    case PTX_OP_prmt:
    case PTX_OP_dp4a:
        return 3;
    case PTX_OP_bfi:
    case PTX_OP_lop3:
        return 4;
    default:
        return 2;
    }
}

bool run_arithmetic(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes rooms[4], result = {0};
    const uint64_t *o[4] = {result, result, result, result};
    if (i->op == PTX_OP_selp) {
        run_choice(m, w, i, mask);
        return true;
    }
    if (!is_whole(i))
        return false;
    if (i->operand_count != operands_of(i) + 1)
        machine_fail(m, 0, "%d operands", i->operand_count);
    if (i->flags & PTX_CC || i->op == PTX_OP_addc || i->op == PTX_OP_subc) {
        run_carry(m, w, i, mask);
        return true;
    }
    const int count = i->operand_count - 1;
    for (int n = 0; n < count; n++)
        o[n] = fetch(m, w, &i->operands[n + 1], rooms[n]);
    if (compute_all(i, o, result)) {
        put(m, w, &i->operands[0], result, mask);
        return true;
    }
    for (EACH_LANE(l, mask)) {
        uint64_t values[4] = {0};
        for (int n = 0; n < count; n++)
            values[n] = is_amount(i, n) ? o[n][l] : extended(i->types[0], o[n][l]);
        result[l] = compute(m, i, values, l);
    }
    put(m, w, &i->operands[0], result, mask);
    return true;
}
