/* Asynchronous instructions of the interpreter: cp.async and wgmma. Each completes as late as the
 * waits allow, and accesses before that are reported. */
#include "matrix.h"

#include <stdlib.h>
#include <string.h>

static void grow(machine *m, void **items, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return;
    void *more = realloc(*items, (size_t)(2 * *capacity + 64) * size);
    if (more == NULL)
        machine_fail(m, 0, "out of memory");
    memset((char *)more + (size_t)*capacity * size, 0, (size_t)(*capacity + 64) * size);
    *items = more;
    *capacity = 2 * *capacity + 64;
}

/* --- cp.async (PTX ISA, "Data Movement and Conversion Instructions: cp.async") ---
 * Once the instruction is issued, the destination must not be read until the thread has waited for
 * the group that contains the copy. */
static void begin_copy(machine *m, warp *w, const copy *c)
{
    const uint64_t pattern = POISON;
    grow(m, (void **)&w->copies, w->copy_count, &w->copy_capacity, sizeof *w->copies);
    w->copies[w->copy_count++] = *c;
    for (int b = 0; b < c->size; b++) {
        m->shadows[c->to + (uint32_t)b].coming = 1;
        m->shared[c->to + (uint32_t)b] = (unsigned char)(pattern >> b % 8 * 8);
    }
    m->counts->copies++;
}

static void end_copy(machine *m, const copy *c)
{
    for (int b = 0; b < c->size; b++)
        m->shadows[c->to + (uint32_t)b].coming = 0;
    memset(m->shared + c->to, 0, (size_t)c->size);
    if (c->read > 0)
        memcpy(m->shared + c->to, global_at(m, c->from, (size_t)c->read, c->lane), (size_t)c->read);
    note_write(m, c->to, (size_t)c->size, c->lane, NULL);
}

/* cp.async.cg.shared.global [to], [from], 16, read */
static void issue_copies(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes rooms[2];
    const uint64_t *size = fetch(m, w, &i->operands[2], rooms[0]), *read = size;
    const bool ignores = i->operand_count > 3 && i->operands[3].form == PTX_REGISTER &&
                         m->program->register_bits[i->operands[3].number] == 1;
    const bool only_16 = strncmp(i->text, "cp.async.cg", 11) == 0;
    if (i->operand_count > 3)
        read = fetch(m, w, &i->operands[3], rooms[1]);
    if (i->operands[0].has_register)
        touch(m, w, i->operands[0].number);
    if (i->operands[1].has_register)
        touch(m, w, i->operands[1].number);
    for (EACH_LANE(l, mask)) {
        copy c = {.from = address_of(m, w, &i->operands[1], l),
                  .size = (int)size[l],
                  .read = ignores ? (read[l] & 1 ? 0 : (int)size[l]) : (int)(uint32_t)read[l],
                  .lane = l,
                  .group = w->copy_groups[l]};
        const uint64_t to = address_of(m, w, &i->operands[0], l);
        if (c.size != 16 && (only_16 || (c.size != 4 && c.size != 8)))
            machine_fail(m, l, "copies %d bytes", c.size);
        if (c.read < 0 || c.read > c.size)
            machine_fail(m, l, "reads %d bytes of %d", c.read, c.size);
        if (to % (uint64_t)c.size != 0 || c.from % (uint64_t)c.size != 0)
            machine_fail(m, l, "copies %d bytes from %#llx to %#llx, which are not multiples",
                         c.size, (unsigned long long)c.from, (unsigned long long)to);
        check_shared(m, to, (size_t)c.size, l);
        if (c.read > 0)
            global_at(m, c.from, (size_t)c.read, l);
        c.to = (uint32_t)to;
        note_write(m, c.to, (size_t)c.size, l, NULL);
        begin_copy(m, w, &c);
    }
}

/* Completes the copies after which the thread has committed at least `newer` more groups. */
static void wait_copies(machine *m, warp *w, uint32_t newer, uint32_t mask)
{
    int kept = 0;
    for (int n = 0; n < w->copy_count; n++) {
        const copy c = w->copies[n];
        if (mask >> c.lane & 1 && c.group + newer < w->copy_groups[c.lane])
            end_copy(m, &c);
        else
            w->copies[kept++] = c;
    }
    w->copy_count = kept;
}

void run_cp_async(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room;
    switch (i->variant) {
    case PTX_COPY:
        issue_copies(m, w, i, mask);
        break;
    case PTX_WAIT:
        wait_copies(m, w, (uint32_t)fetch(m, w, &i->operands[0], room)[0], mask);
        break;
    case PTX_WAIT_ALL:
    case PTX_COMMIT:
        for (EACH_LANE(l, mask))
            w->copy_groups[l]++;
        if (i->variant == PTX_WAIT_ALL)
            wait_copies(m, w, 0, mask);
        break;
    default:
        machine_fail(m, 0, "this form of the instruction is not supported");
    }
}

/* --- fence.proxy.async (PTX ISA, "Memory Consistency Model: Proxies") ---
 * wgmma reads shared memory through the async proxy, while loads, stores and cp.async use the
 * generic proxy. This fence must therefore be between a write and such a read, before or after the
 * barrier. A warp's fence covers the writes that are visible to the warp when its last lane
 * executes the fence; lanes may execute it at different times. */
void note_proxy_fence(machine *m, warp *w, uint32_t mask)
{
    w->fence_lanes |= mask;
    if ((w->fence_lanes & w->alive) != w->alive)
        return;
    w->fence_lanes = 0;
    for (int v = 0; v < m->warp_count; v++)
        w->fenced[v] = w->clock[v];
    w->clock[w->number]++; /* later writes of this warp are not covered */
}

static void check_visible(machine *m, const warp *w, uint32_t at)
{
    const shadow *s = &m->shadows[at];
    if (s->coming)
        machine_fail(m, 0,
                     "reads shared byte %#x, which a cp.async writes that has not been waited for",
                     at);
    if (s->written == 0)
        return;
    const uint32_t known = s->writer == w->number ? w->lanes_met - 1 : w->clock[s->writer];
    if (s->written > known)
        machine_fail(
            m, 0, "reads shared byte %#x, which warp %d has written without a barrier in between",
            at, s->writer);
    if (s->written > w->fenced[s->writer])
        machine_fail(m, 0,
                     "reads shared byte %#x, which warp %d has written without a "
                     "fence.proxy.async in between",
                     at, s->writer);
}

/* --- wgmma ---
 * Until wgmma.wait_group has waited for a product's group, no other instruction may use the
 * product's accumulators, or write the registers and shared memory that it reads. The interpreter
 * stores the results at once and reports accesses before the wait. */
product *begin_product(machine *m, warp *w)
{
    grow(m, (void **)&w->products, w->product_count, &w->product_capacity, sizeof *w->products);
    product *p = &w->products[w->product_count++];
    uint32_t *pieces = p->pieces;
    if (pieces == NULL)
        pieces = malloc((64 + 256) * 8 * sizeof *pieces); /* of A and B, 16 bytes each */
    if (pieces == NULL)
        machine_fail(m, 0, "out of memory");
    *p = (product){.group = w->product_groups, .serial = ++w->serial, .pieces = pieces};
    m->counts->products++;
    return p;
}

/* Records 16 bytes that a product reads. */
void take_piece(machine *m, warp *w, product *p, uint32_t at)
{
    check_shared(m, at, 16, 0);
    p->pieces[p->piece_count++] = at;
    for (uint32_t b = at; b < at + 16; b++) {
        check_visible(m, w, b);
        m->shadows[b].products++;
    }
}

static void end_product(machine *m, warp *w, const product *p)
{
    for (int n = 0; n < p->piece_count; n++)
        for (uint32_t b = p->pieces[n]; b < p->pieces[n] + 16; b++) {
            const size_t byte = (size_t)b * (size_t)m->warp_count + (size_t)w->number;
            m->shadows[b].products--;
            m->read_at[byte] = w->clock[w->number];
            m->read_by[byte] = 255;
        }
    if (p->serial > w->done)
        w->done = p->serial;
}

static void wait_products(machine *m, warp *w, uint32_t newer)
{
    int kept = 0;
    for (int n = 0; n < w->product_count; n++) {
        const product p = w->products[n];
        if (p.group + newer < w->product_groups) {
            end_product(m, w, &p);
            continue;
        }
        /* The swap lets each entry keep its own allocation. */
        w->products[n] = w->products[kept];
        w->products[kept++] = p;
    }
    w->product_count = kept;
}

void run_wgmma(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room;
    (void)mask;
    switch (i->variant) {
    case PTX_ORDER:
        w->fence = m->time;
        break;
    case PTX_COMMIT:
        w->product_groups++;
        break;
    case PTX_WAIT:
        wait_products(m, w, (uint32_t)fetch(m, w, &i->operands[0], room)[0]);
        break;
    case PTX_MULTIPLY:
        multiply_group(m, w, i);
        break;
    default:
        machine_fail(m, 0, "this form of the instruction is not supported");
    }
}
