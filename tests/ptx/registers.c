/* Registers and operands of the interpreter. */
#include "internal.h"
#include "special.h"

#include <string.h>

/* PTX ISA, "wgmma.mma_async": registers of a product must not be accessed until wgmma.wait_group
 * has waited for it. */
void touch(machine *m, warp *w, int number)
{
    if (!m->program->has_wgmma)
        return;
    if (w->taken[number] > w->done)
        machine_fail(m, 0, "a register that a wgmma in flight uses");
    w->touched[number] = m->time;
}

static uint64_t special_value(const machine *m, const warp *w, int number, int lane)
{
    const uint32_t item = (uint32_t)(w->number * LANES + lane), *items = m->launch->items;
    const uint32_t tid[3] = {item % items[0], item / items[0] % items[1],
                             item / items[0] / items[1]};
    const uint32_t bit = 1u << lane;
    if (number < SPECIAL_NTID)
        return tid[number - SPECIAL_TID];
    if (number < SPECIAL_CTAID)
        return items[number - SPECIAL_NTID];
    if (number < SPECIAL_NCTAID)
        return m->group[number - SPECIAL_CTAID];
    if (number < SPECIAL_LANEID)
        return m->launch->groups[number - SPECIAL_NCTAID];
    switch (number) {
    case SPECIAL_LANEID:
        return (uint64_t)lane;
    case SPECIAL_WARPID:
        return (uint64_t)w->number;
    case SPECIAL_NWARPID:
        return (uint64_t)m->warp_count;
    case SPECIAL_LANEMASK_EQ:
        return bit;
    case SPECIAL_LANEMASK_LT:
        return bit - 1;
    case SPECIAL_LANEMASK_LE:
        return bit | (bit - 1);
    case SPECIAL_LANEMASK_GT:
        return ~(bit | (bit - 1));
    case SPECIAL_LANEMASK_GE:
        return ~(bit - 1);
    case SPECIAL_CLOCK:
        return m->time;
    default:
        return 0;
    }
}

/* Returns the numeric value of a symbol: an address in its own space. */
static uint64_t symbol_address(const machine *m, const ptx_operand *o)
{
    const ptx_variable *v = &m->program->variables[o->number];
    /* Variables in global and constant memory are addressed by their host address. */
    return v->data != NULL ? (uint64_t)(uintptr_t)v->data + o->value - v->offset : o->value;
}

const uint64_t *fetch(machine *m, warp *w, const ptx_operand *o, lanes room)
{
    switch (o->form) {
    case PTX_REGISTER:
        touch(m, w, o->number);
        if (!o->negated)
            return w->r[o->number];
        for (int l = 0; l < LANES; l++)
            room[l] = (w->r[o->number][l] & 1) ^ 1;
        return room;
    case PTX_IMMEDIATE:
        for (int l = 0; l < LANES; l++)
            room[l] = o->value;
        return room;
    case PTX_SPECIAL:
        for (int l = 0; l < LANES; l++)
            room[l] = special_value(m, w, o->number, l);
        return room;
    case PTX_SYMBOL:
        for (int l = 0; l < LANES; l++)
            room[l] = symbol_address(m, o);
        return room;
    default:
        machine_fail(m, 0, "the instruction does not accept an operand of this form");
    }
}

void put(machine *m, warp *w, const ptx_operand *o, const uint64_t *values, uint32_t mask)
{
    if (o->form == PTX_SINK)
        return;
    if (o->form != PTX_REGISTER)
        machine_fail(m, 0, "the result is not a register");
    touch(m, w, o->number);
    uint64_t *r = w->r[o->number];
    const int bits = m->program->register_bits[o->number];
    const uint64_t kept = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    for (EACH_LANE(l, mask))
        r[l] = values[l] & kept;
}

/* Splits a value into the parts of a vector operand, `bits` bits each. */
static void put_parts(machine *m, warp *w, const ptx_operand *to, const uint64_t *value, int bits,
                      uint32_t mask)
{
    for (int e = 0; e < to->number; e++) {
        lanes part;
        for (int l = 0; l < LANES; l++)
            part[l] = value[l] >> (e * bits);
        put(m, w, &to->elements[e], part, mask);
    }
}

void run_move(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const ptx_operand *to = &i->operands[0], *from = &i->operands[1];
    lanes room, whole;
    if (from->form == PTX_VECTOR) {
        const int bits = i->types[0].bits / from->number;
        memset(whole, 0, sizeof whole);
        for (int e = 0; e < from->number; e++) {
            const uint64_t *part = fetch(m, w, &from->elements[e], room);
            for (int l = 0; l < LANES; l++)
                whole[l] |= (part[l] & (((uint64_t)1 << bits) - 1)) << (e * bits);
        }
        put(m, w, to, whole, mask);
    } else if (to->form == PTX_VECTOR) {
        put_parts(m, w, to, fetch(m, w, from, room), i->types[0].bits / to->number, mask);
    } else {
        put(m, w, to, fetch(m, w, from, room), mask);
    }
}

/* shfl: the third operand encodes the first and the last lane of each segment. */
void run_shuffle(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room_a, room_b, room_c, result, found;
    const uint64_t *a = fetch(m, w, &i->operands[1], room_a);
    const uint64_t *b = fetch(m, w, &i->operands[2], room_b);
    const uint64_t *c = fetch(m, w, &i->operands[3], room_c);
    for (EACH_LANE(l, mask)) {
        const int offset = (int)(b[l] & 31), limit = (int)(c[l] & 31);
        const int segment = (int)(c[l] >> 8 & 31), first = l & segment;
        const int last = first | (limit & ~segment);
        int from = l - offset;
        if (i->variant == PTX_MODE_DOWN)
            from = l + offset;
        else if (i->variant == PTX_MODE_BFLY)
            from = l ^ offset;
        else if (i->variant == PTX_MODE_IDX)
            from = first | (offset & ~segment);
        found[l] = i->variant == PTX_MODE_UP ? from >= last : from <= last;
        from = found[l] ? from : l;
        if ((mask >> from & 1) == 0)
            machine_fail(m, l, "takes a value from lane %d, which has ended", from);
        result[l] = a[from];
    }
    put(m, w, &i->operands[0], result, mask);
    if (i->operands[0].also >= 0) {
        const ptx_operand also = {.form = PTX_REGISTER, .number = i->operands[0].also};
        put(m, w, &also, found, mask);
    }
}

void run_vote(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room, result;
    uint32_t set = 0;
    uint64_t value = mask;
    if (i->op == PTX_OP_vote) {
        const uint64_t *a = fetch(m, w, &i->operands[1], room);
        for (EACH_LANE(l, mask))
            set |= (uint32_t)(a[l] & 1) << l;
        value = i->variant == PTX_MODE_BALLOT ? set
                : i->variant == PTX_MODE_ANY  ? set != 0
                : i->variant == PTX_MODE_UNI  ? set == 0 || set == mask
                                              : set == mask;
    }
    for (int l = 0; l < LANES; l++)
        result[l] = value;
    put(m, w, &i->operands[0], result, mask);
}

void run_redux(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room, result;
    const uint64_t *a = fetch(m, w, &i->operands[1], room);
    bool is_first = true;
    int64_t value = 0;
    for (EACH_LANE(l, mask)) {
        const int64_t x = (int64_t)extended(i->types[0], a[l]);
        if (is_first)
            value = x;
        else if (i->variant == PTX_MODE_ADD)
            value += x;
        else if (i->variant == PTX_MODE_MIN)
            value = x < value ? x : value;
        else if (i->variant == PTX_MODE_MAX)
            value = x > value ? x : value;
        else
            value = i->flags & PTX_AND ? value & x : i->flags & PTX_OR ? value | x : value ^ x;
        is_first = false;
    }
    for (int l = 0; l < LANES; l++)
        result[l] = (uint64_t)value;
    put(m, w, &i->operands[0], result, mask);
}
