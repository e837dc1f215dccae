/* Memory accesses of the interpreter and their ordering. */
#include "internal.h"

#include <string.h>

uint64_t address_of(machine *m, warp *w, const ptx_operand *o, int lane)
{
    if (o->form != PTX_ADDRESS)
        machine_fail(m, lane, "an address expected");
    if (!o->has_register) {
        const unsigned char *data = o->also >= 0 ? m->program->variables[o->also].data : NULL;
        return (uint64_t)(uintptr_t)data + o->value;
    }
    return w->r[o->number][lane] + o->value;
}

static unsigned char *find_global(machine *m, uint64_t address, size_t size)
{
    const ptx_buffer *b = m->recent;
    for (int i = -1; i < m->launch->buffer_count; i++) {
        if (i >= 0)
            b = &m->launch->buffers[i];
        if (b != NULL && address >= b->address && address - b->address <= b->size &&
            b->size - (address - b->address) >= size) {
            m->recent = b;
            return b->bytes + (address - b->address);
        }
    }
    for (int i = 0; i < m->program->variable_count; i++) {
        const ptx_variable *v = &m->program->variables[i];
        const uint64_t start = (uint64_t)(uintptr_t)v->data;
        if (v->data != NULL && address >= start && address - start <= v->size &&
            v->size - (address - start) >= size)
            return v->data + (address - start);
    }
    return NULL;
}

static unsigned char *global_bytes(machine *m, uint64_t address, size_t size, int lane)
{
    unsigned char *bytes = find_global(m, address, size);
    if (bytes == NULL)
        machine_fail(m, lane, "%zu bytes at global address %#llx, outside every buffer", size,
                     (unsigned long long)address);
    return bytes;
}

const unsigned char *global_at(machine *m, uint64_t address, size_t size, int lane)
{
    return global_bytes(m, address, size, lane);
}

void check_shared(machine *m, uint64_t at, size_t size, int lane)
{
    const ptx_program *p = m->program;
    for (int i = 0; i < p->variable_count; i++) {
        const ptx_variable *v = &p->variables[i];
        if (v->space == PTX_SHARED && at >= v->offset && at + size <= v->offset + v->size)
            return;
    }
    machine_fail(m, lane, "%zu bytes at shared address %#llx, outside every variable", size,
                 (unsigned long long)at);
}

/* Returns true if an access by this warp and lane happens after one at `time` of another warp's
 * clock. */
static bool is_after(const machine *m, int lane, int other, uint32_t time, int other_lane)
{
    const warp *w = m->acting;
    if (other == w->number)
        return other_lane == lane || time < w->lanes_met;
    return w->clock[other] >= time;
}

static void check_way(machine *m, const shadow *s, uint32_t at, int lane, bool write)
{
    if (s->coming)
        machine_fail(m, lane,
                     "shared byte %#x, which a cp.async writes that has not been waited for", at);
    if (write && s->products > 0)
        machine_fail(m, lane, "writes shared byte %#x, which a wgmma still reads", at);
}

/* PTX ISA, "Memory Consistency Model": two accesses by different threads must be ordered by a
 * barrier if one of them is a write. */
void note_read(machine *m, uint32_t at, size_t size, int lane)
{
    const warp *w = m->acting;
    for (uint32_t end = at + (uint32_t)size; at < end; at++) {
        const shadow *s = &m->shadows[at];
        check_way(m, s, at, lane, false);
        if (s->written != 0 && !is_after(m, lane, s->writer, s->written, s->lane))
            machine_fail(m, lane,
                         "reads shared byte %#x, which warp %d, lane %d has written without a "
                         "barrier in between",
                         at, s->writer, s->lane);
        uint32_t *when = &m->read_at[(size_t)at * (size_t)m->warp_count + (size_t)w->number];
        uint8_t *by = &m->read_by[(size_t)at * (size_t)m->warp_count + (size_t)w->number];
        *by = *when >= w->lanes_met && *when != 0 && *by != lane ? 255 : (uint8_t)lane;
        *when = w->clock[w->number];
    }
}

static void check_readers(machine *m, uint32_t at, int lane)
{
    const size_t first = (size_t)at * (size_t)m->warp_count;
    for (int v = 0; v < m->warp_count; v++)
        if (m->read_at[first + (size_t)v] != 0 &&
            !is_after(m, lane, v, m->read_at[first + (size_t)v], m->read_by[first + (size_t)v]))
            machine_fail(
                m, lane,
                "writes shared byte %#x, which warp %d has read without a barrier in between", at,
                v);
}

/* Checks and records a write. Two threads may write the same value. */
void note_write(machine *m, uint32_t at, size_t size, int lane, const void *value)
{
    const warp *w = m->acting;
    const unsigned char *bytes = value;
    for (uint32_t i = 0; i < size; i++) {
        shadow *s = &m->shadows[at + i];
        check_way(m, s, at + i, lane, true);
        const bool is_same = bytes != NULL && m->shared[at + i] == bytes[i];
        if (s->written != 0 && !is_same && !is_after(m, lane, s->writer, s->written, s->lane))
            machine_fail(m, lane,
                         "writes shared byte %#x, which warp %d, lane %d has written without a "
                         "barrier in between",
                         at + i, s->writer, s->lane);
        check_readers(m, at + i, lane);
        s->written = w->clock[w->number];
        s->writer = (uint8_t)w->number;
        s->lane = (uint8_t)lane;
    }
}

static unsigned char *shared_bytes(machine *m, uint64_t at, size_t size, bool write,
                                   const void *value, int lane)
{
    check_shared(m, at, size, lane);
    if (write)
        note_write(m, (uint32_t)at, size, lane, value);
    else
        note_read(m, (uint32_t)at, size, lane);
    return m->shared + at;
}

static ptx_space space_of(uint64_t *address)
{
    const uint64_t window = *address / WINDOW * WINDOW;
    static const ptx_space spaces[] = {PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM};
    if (window > PARAM_WINDOW)
        return PTX_GLOBAL;
    *address -= window;
    return spaces[window / WINDOW];
}

unsigned char *memory_at(machine *m, ptx_space space, uint64_t address, size_t size, bool write,
                         const void *value, int lane)
{
    const uint64_t local = m->program->local_bytes;
    if (address % size != 0)
        machine_fail(m, lane, "%zu bytes at %#llx, which is not a multiple", size,
                     (unsigned long long)address);
    if (space == PTX_GENERIC)
        space = space_of(&address);
    switch (space) {
    case PTX_SHARED:
        return shared_bytes(m, address, size, write, value, lane);
    case PTX_LOCAL:
        if (address > local || local - address < size)
            machine_fail(m, lane, "%zu bytes at local address %#llx of %llu", size,
                         (unsigned long long)address, (unsigned long long)local);
        return m->local + (uint64_t)(m->acting->number * LANES + lane) * local + address;
    case PTX_PARAM:
        if (write || address > m->launch->kernel->param_bytes ||
            m->launch->kernel->param_bytes - address < size)
            machine_fail(m, lane, "%zu bytes at parameter %#llx of %u", size,
                         (unsigned long long)address, m->launch->kernel->param_bytes);
        return m->params + address;
    default:
        return global_bytes(m, address, size, lane);
    }
}

/* Returns the space that is accessed. Parameters of a function are in local memory, those of a
 * kernel in its launch. */
static ptx_space accessed(const machine *m, const ptx_instruction *i, const ptx_operand *at)
{
    if (at->also >= 0 && !at->has_register)
        return (ptx_space)m->program->variables[at->also].space == PTX_LOCAL ? PTX_LOCAL
                                                                             : (ptx_space)i->space;
    return (ptx_space)i->space;
}

static const ptx_operand *element(const ptx_operand *o, int number)
{
    return o->form == PTX_VECTOR ? &o->elements[number] : o;
}

void run_load(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const ptx_operand *to = &i->operands[0], *at = &i->operands[1];
    const int count = i->vector > 0 ? i->vector : 1;
    const size_t size = i->types[0].bits / 8U * i->types[0].count;
    lanes values[8];
    if (at->has_register)
        touch(m, w, at->number);
    for (EACH_LANE(l, mask)) {
        const unsigned char *bytes = memory_at(m, accessed(m, i, at), address_of(m, w, at, l),
                                               size * (size_t)count, false, NULL, l);
        for (int e = 0; e < count; e++) {
            uint64_t value = 0;
            memcpy(&value, bytes + (size_t)e * size, size);
            values[e][l] = i->types[0].kind == PTX_SIGNED ? extended(i->types[0], value) : value;
        }
    }
    for (int e = 0; e < count; e++)
        put(m, w, element(to, e), values[e], mask);
}

void run_store(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const ptx_operand *at = &i->operands[0], *from = &i->operands[1];
    const int count = i->vector > 0 ? i->vector : 1;
    const size_t size = i->types[0].bits / 8U * i->types[0].count;
    lanes room[8];
    const uint64_t *values[8];
    if (at->has_register)
        touch(m, w, at->number);
    for (int e = 0; e < count; e++)
        values[e] = fetch(m, w, element(from, e), room[e]);
    for (EACH_LANE(l, mask)) {
        unsigned char bytes[32];
        for (int e = 0; e < count; e++)
            memcpy(bytes + (size_t)e * size, &values[e][l], size);
        memcpy(memory_at(m, accessed(m, i, at), address_of(m, w, at, l), size * (size_t)count, true,
                         bytes, l),
               bytes, size * (size_t)count);
    }
}

static uint64_t combined(machine *m, const ptx_instruction *i, uint64_t old, uint64_t b, uint64_t c)
{
    const ptx_type type = i->types[0];
    const int64_t x = (int64_t)extended(type, old), y = (int64_t)extended(type, b);
    if (i->flags & (PTX_AND | PTX_OR | PTX_XOR))
        return i->flags & PTX_AND ? old & b : i->flags & PTX_OR ? old | b : old ^ b;
    switch (i->variant) {
    case PTX_MODE_ADD:
        if (type.kind == PTX_FLOAT && type.count == 1)
            return from_double(type, to_double(type, old) + to_double(type, b), PTX_RN);
        return old + b;
    case PTX_MODE_EXCH:
        return b;
    case PTX_MODE_CAS:
        return old == b ? c : old;
    case PTX_MODE_MIN:
        return (type.kind == PTX_SIGNED ? x < y : old < b) ? old : b;
    case PTX_MODE_MAX:
        return (type.kind == PTX_SIGNED ? x > y : old > b) ? old : b;
    case PTX_MODE_INC:
        return old >= b ? 0 : old + 1;
    case PTX_MODE_DEC:
        return old == 0 || old > b ? b : old - 1;
    default:
        machine_fail(m, 0, "this form of the instruction is not supported");
    }
}

/* Executes the lanes one after the other. */
void run_atomic(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const bool has_result = i->op == PTX_OP_atom;
    const ptx_operand *at = &i->operands[has_result], *rest = at + 1;
    const size_t size = i->types[0].bits / 8U;
    lanes room_b, room_c, before;
    const uint64_t *b = fetch(m, w, &rest[0], room_b), *c = b;
    if (i->variant == PTX_MODE_CAS)
        c = fetch(m, w, &rest[1], room_c);
    for (EACH_LANE(l, mask)) {
        uint64_t address = address_of(m, w, at, l), old = 0;
        ptx_space space = (ptx_space)i->space;
        if (space == PTX_GENERIC)
            space = space_of(&address);
        if (address % size != 0)
            machine_fail(m, l, "%zu bytes at %#llx, which is not a multiple", size,
                         (unsigned long long)address);
        if (space == PTX_SHARED)
            check_shared(m, address, size, l); /* atomic accesses do not race */
        unsigned char *bytes =
            space == PTX_SHARED ? m->shared + address : global_bytes(m, address, size, l);
        memcpy(&old, bytes, size);
        before[l] = old;
        const uint64_t now = combined(m, i, old, b[l], c[l]);
        memcpy(bytes, &now, size);
    }
    if (has_result)
        put(m, w, &i->operands[0], before, mask);
}

/* cvta: converts between an address of a space and a generic one. */
void run_address(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    static const uint64_t windows[] = {
        [PTX_GENERIC] = 0,          [PTX_GLOBAL] = 0,           [PTX_SHARED] = SHARED_WINDOW,
        [PTX_LOCAL] = LOCAL_WINDOW, [PTX_PARAM] = PARAM_WINDOW, [PTX_CONST] = 0};
    lanes room, result;
    const uint64_t *a = fetch(m, w, &i->operands[1], room);
    const uint64_t window = windows[i->space];
    for (int l = 0; l < LANES; l++)
        result[l] = i->flags & PTX_TO ? a[l] - window : a[l] + window;
    put(m, w, &i->operands[0], result, mask);
}
