/* Groups of threads, their warps and lanes: what runs next, and the flow of control. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INSTRUCTIONS 200000000u /* of a group's warps: a loop that never ends */

_Noreturn void machine_fail(machine *m, int lane, const char *format, ...)
{
    int used = 0;
    va_list arguments;
    if (m->now != NULL)
        used = snprintf(m->message, 512, "line %d, %s: ", m->now->line, m->now->text);
    va_start(arguments, format);
    used += vsnprintf(m->message + used, 512 - (size_t)used, format, arguments);
    va_end(arguments);
    if (used < 512 && m->acting != NULL)
        snprintf(m->message + used, 512 - (size_t)used, " (group %u,%u,%u, warp %d, lane %d)",
                 m->group[0], m->group[1], m->group[2], m->acting->number, lane);
    longjmp(m->failed, 1);
}

/* Marsaglia's xorshift64. */
uint64_t draw(machine *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random >> 11;
}

static void branch(warp *w, uint32_t mask, int to)
{
    EACH_LANE(mask, l)
    w->pc[l] = to;
}

/* The lanes that `mask` lacks stand at the next instruction already. */
static void end_lanes(machine *m, warp *w, uint32_t mask)
{
    (void)m;
    w->alive &= ~mask;
}

static const ptx_variable *symbol(const machine *m, const ptx_operand *o)
{
    return &m->program->variables[o->number];
}

static void copy_locals(machine *m, warp *w, int lane, uint64_t to, uint64_t from, uint64_t size)
{
    unsigned char *own = m->local + (uint64_t)(w->number * LANES + lane) * m->program->local_bytes;
    memmove(own + to, own + from, size);
}

/* call (results), function, (arguments); parameters are copied to where the function has its own.
 */
static void run_call(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const ptx_operand *callee = &i->operands[0], *given = NULL;
    if (callee->form == PTX_VECTOR)
        callee = &i->operands[1];
    const int after = (int)(callee - i->operands) + 1;
    if (after < i->operand_count)
        given = &i->operands[after];
    const ptx_function *f = &m->program->functions[callee->number];
    EACH_LANE(mask, l)
    {
        for (int a = 0; given != NULL && a < given->number && a < f->param_count; a++) {
            const ptx_variable *formal = &m->program->variables[f->params[a]];
            copy_locals(m, w, l, formal->offset, symbol(m, &given->elements[a])->offset,
                        formal->size);
        }
        if (w->depth[l] == CALL_DEPTH)
            machine_fail(m, l, "calls are nested too deeply");
        w->back[w->depth[l]++][l] = w->pc[l];
    }
    branch(w, mask, f->first);
}

/* Back behind the call, with the result. */
static void run_return(machine *m, warp *w, uint32_t mask)
{
    EACH_LANE(mask, l)
    {
        if (w->depth[l] == 0) {
            end_lanes(m, w, 1u << l);
            continue;
        }
        const int back = w->back[--w->depth[l]][l];
        const ptx_instruction *call = &m->program->instructions[back - 1];
        if (call->operands[0].form == PTX_VECTOR && call->operands[0].number > 0) {
            const ptx_function *f = &m->program->functions[call->operands[1].number];
            const ptx_variable *to = symbol(m, &call->operands[0].elements[0]);
            copy_locals(m, w, l, to->offset, m->program->variables[f->result].offset, to->size);
        }
        w->pc[l] = back;
    }
}

static void run_indexed_branch(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes room;
    const uint64_t *index = fetch(m, w, &i->operands[0], room);
    const int *targets = m->program->targets + i->operands[1].number;
    EACH_LANE(mask, l)
    {
        if ((uint32_t)index[l] >= (uint32_t)targets[0])
            machine_fail(m, l, "target %u of %d", (uint32_t)index[l], targets[0]);
        w->pc[l] = targets[1 + (uint32_t)index[l]];
    }
}

/* PTX ISA, "Parallel Synchronization and Communication Instructions: bar.warp.sync". */
void meet_lanes(warp *w)
{
    w->lanes_met = ++w->clock[w->number];
}

static void complete(machine *m, barrier *b)
{
    for (int v = 0; v < m->warp_count; v++) {
        warp *w = &m->warps[v];
        if ((b->waiting >> v & 1) == 0)
            continue;
        for (int u = 0; u < m->warp_count; u++) {
            w->clock[u] = w->clock[u] > b->clock[u] ? w->clock[u] : b->clock[u];
            w->fenced[u] = w->fenced[u] > b->fenced[u] ? w->fenced[u] : b->fenced[u];
        }
        w->waiting = -1;
    }
    memset(b, 0, sizeof *b);
}

/* PTX ISA, "bar{.cta}, barrier{.cta}": waits for all threads of the group, or for so many. */
void arrive(machine *m, warp *w, const ptx_instruction *i)
{
    lanes room;
    uint32_t number = 0, count = (uint32_t)m->warp_count * LANES;
    if (i->operand_count > 0)
        number = (uint32_t)fetch(m, w, &i->operands[0], room)[0];
    if (i->operand_count > 1)
        count = (uint32_t)fetch(m, w, &i->operands[1], room)[0];
    if (number >= BARRIERS || count % LANES != 0 || count == 0)
        machine_fail(m, 0, "barrier %u for %u threads", number, count);
    barrier *b = &m->barriers[number];
    if (b->arrived > 0 && b->expected != count)
        machine_fail(m, 0, "barrier %u is for %u threads and for %u", number, b->expected, count);
    b->expected = count;
    b->arrived += LANES;
    for (int u = 0; u < m->warp_count; u++) {
        b->clock[u] = w->clock[u] > b->clock[u] ? w->clock[u] : b->clock[u];
        b->fenced[u] = w->fenced[u] > b->fenced[u] ? w->fenced[u] : b->fenced[u];
    }
    meet_lanes(w);
    m->counts->barriers++;
    if ((i->flags & PTX_ARRIVE) == 0) {
        b->waiting |= 1u << w->number;
        w->waiting = (int)number;
    }
    if (b->arrived >= count)
        complete(m, b);
}

static void run_barrier(machine *m, warp *w, const ptx_instruction *i)
{
    if (i->flags & PTX_WARP)
        meet_lanes(w);
    else
        arrive(m, w, i);
}

/* All but the flow of control. */
static void run_plain(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu:
        run_load(m, w, i, mask);
        break;
    case PTX_OP_st:
        run_store(m, w, i, mask);
        break;
    case PTX_OP_atom:
    case PTX_OP_red:
        run_atomic(m, w, i, mask);
        break;
    case PTX_OP_mov:
        run_move(m, w, i, mask);
        break;
    case PTX_OP_cvta:
        run_address(m, w, i, mask);
        break;
    case PTX_OP_cvt:
        run_convert(m, w, i, mask);
        break;
    case PTX_OP_setp:
    case PTX_OP_set:
        run_compare(m, w, i, mask);
        break;
    case PTX_OP_shfl:
        run_shuffle(m, w, i, mask);
        break;
    case PTX_OP_vote:
    case PTX_OP_activemask:
        run_vote(m, w, i, mask);
        break;
    case PTX_OP_redux:
        run_redux(m, w, i, mask);
        break;
    case PTX_OP_mma:
        run_mma(m, w, i);
        break;
    case PTX_OP_ldmatrix:
        run_ldmatrix(m, w, i);
        break;
    case PTX_OP_stmatrix:
        run_stmatrix(m, w, i);
        break;
    case PTX_OP_cp:
        run_cp_async(m, w, i, mask);
        break;
    case PTX_OP_wgmma:
        run_wgmma(m, w, i, mask);
        break;
    case PTX_OP_fence:
        if (i->flags & PTX_PROXY && (i->space == PTX_GENERIC || i->space == PTX_SHARED))
            note_proxy_fence(m, w, mask);
        break;
    case PTX_OP_membar:
    case PTX_OP_nanosleep:
    case PTX_OP_prefetch:
    case PTX_OP_setmaxnreg:
        break;
    default:
        if (!run_arithmetic(m, w, i, mask) && !run_float(m, w, i, mask))
            machine_fail(m, 0, "this form of it is not interpreted");
    }
}

static void run_control(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    switch (i->op) {
    case PTX_OP_bra:
        branch(w, mask, i->operands[0].number);
        break;
    case PTX_OP_brx:
        run_indexed_branch(m, w, i, mask);
        break;
    case PTX_OP_call:
        run_call(m, w, i, mask);
        break;
    case PTX_OP_ret:
        run_return(m, w, mask);
        break;
    case PTX_OP_exit:
        end_lanes(m, w, mask);
        break;
    case PTX_OP_trap:
        if (mask != 0)
            machine_fail(m, 0, "the kernel stops itself");
        break;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        run_barrier(m, w, i);
        break;
    default:
        run_plain(m, w, i, mask);
    }
}

/* Whether all lanes of the warp that there are must execute it together: what is .aligned, and what
 * exchanges values or meets. */
static bool is_collective(const ptx_instruction *i)
{
    switch (i->op) {
    case PTX_OP_bar:
    case PTX_OP_barrier:
    case PTX_OP_mma:
    case PTX_OP_ldmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_redux:
    case PTX_OP_wgmma:
        return true;
    default:
        return (i->flags & PTX_ALIGNED) != 0;
    }
}

static bool needs_whole_warp(const ptx_instruction *i)
{
    return i->op == PTX_OP_mma || i->op == PTX_OP_ldmatrix || i->op == PTX_OP_stmatrix ||
           i->op == PTX_OP_wgmma;
}

static uint32_t guarded(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    uint32_t kept = 0;
    if (i->guard < 0)
        return mask;
    touch(m, w, i->guard);
    EACH_LANE(mask, l)
    kept |= (uint32_t)((w->r[i->guard][l] & 1) != i->guard_negated) << l;
    return kept;
}

/* The lanes that stand at the lowest pc of those that wait for nobody: after a loop or a branch
 * they meet again there. */
static uint32_t choose_lanes(const warp *w, int *pc)
{
    uint32_t mask = 0;
    *pc = -1;
    EACH_LANE(w->alive & ~w->parked, l)
    {
        if (*pc < 0 || w->pc[l] < *pc) {
            *pc = w->pc[l];
            mask = 0;
        }
        mask |= w->pc[l] == *pc ? 1u << l : 0;
    }
    return mask;
}

/* One instruction of one warp. */
static void step(machine *m, warp *w)
{
    int pc;
    uint32_t mask = choose_lanes(w, &pc);
    m->acting = w;
    if (mask == 0) { /* those that they waited for have ended */
        w->parked = 0;
        mask = choose_lanes(w, &pc);
        if (mask != w->alive)
            machine_fail(m, 0, "lanes of a warp wait for one another at different places");
    }
    const ptx_instruction *i = m->now = &m->program->instructions[pc];
    if (is_collective(i)) {
        EACH_LANE(w->parked, l)
        mask |= w->pc[l] == pc ? 1u << l : 0;
        if (mask != w->alive) { /* the others have yet to come */
            w->parked |= mask;
            return;
        }
        w->parked = 0;
    }
    branch(w, mask, pc + 1);
    const uint32_t kept = guarded(m, w, i, mask);
    m->counts->instructions++;
    m->time++;
    if (is_collective(i) && kept != 0 &&
        (kept != mask || (needs_whole_warp(i) && kept != 0xffffffffu)))
        machine_fail(m, 0, "only lanes %08x of the warp execute it", kept);
    if (kept != 0)
        run_control(m, w, i, kept);
}

/* Whether lanes are left, which all have ended where none is. */
static void run_warp(machine *m, warp *w, uint64_t count)
{
    for (; count > 0 && w->alive != 0 && w->waiting < 0; count--)
        step(m, w);
}

static void report_stuck(machine *m)
{
    m->now = NULL;
    for (int v = 0; v < m->warp_count; v++)
        if (m->warps[v].waiting >= 0) {
            m->acting = &m->warps[v];
            machine_fail(m, 0, "barrier %d waits for warps that never come", m->warps[v].waiting);
        }
}

static void run_group(machine *m)
{
    const uint64_t end = m->time + MOST_INSTRUCTIONS;
    for (;;) {
        int ready[MAX_WARPS], count = 0;
        bool waits = false;
        for (int v = 0; v < m->warp_count; v++) {
            if (m->warps[v].alive != 0 && m->warps[v].waiting < 0)
                ready[count++] = v;
            waits |= m->warps[v].waiting >= 0;
        }
        if (count == 0 && waits)
            report_stuck(m);
        if (count == 0)
            return;
        static const uint64_t lengths[] = {1, 16, 256, 100000};
        run_warp(m, &m->warps[ready[draw(m) % (uint64_t)count]], lengths[draw(m) % 4]);
        if (m->time > end)
            machine_fail(m, 0, "a group of threads does not end");
    }
}

static void *allocate(machine *m, size_t count, size_t size)
{
    void *made = calloc(count > 0 ? count : 1, size);
    if (made == NULL)
        machine_fail(m, 0, "no memory");
    return made;
}

static void poison(void *memory, size_t size)
{
    const uint64_t pattern = POISON;
    for (size_t at = 0; at < size; at++)
        ((unsigned char *)memory)[at] = (unsigned char)(pattern >> at % 8 * 8);
}

static void create_warps(machine *m)
{
    const size_t registers = (size_t)m->program->register_count;
    for (int v = 0; v < m->warp_count; v++) {
        m->warps[v].r = allocate(m, registers, sizeof(lanes));
        m->warps[v].taken = allocate(m, registers, sizeof(uint64_t));
        m->warps[v].touched = allocate(m, registers, sizeof(uint64_t));
    }
}

/* A group begins: nothing is known of memory and registers. */
static void begin_group(machine *m)
{
    const size_t shared = (size_t)m->program->shared_bytes;
    const size_t registers = (size_t)m->program->register_count;
    poison(m->shared, shared);
    poison(m->local, (size_t)m->program->local_bytes * (size_t)m->warp_count * LANES);
    memset(m->shadows, 0, shared * sizeof *m->shadows);
    memset(m->read_at, 0, shared * (size_t)m->warp_count * sizeof *m->read_at);
    memset(m->barriers, 0, sizeof m->barriers);
    for (int v = 0; v < m->warp_count; v++) {
        warp *w = &m->warps[v];
        w->number = v;
        const uint32_t left = m->item_count - (uint32_t)v * LANES;
        w->alive = left >= LANES ? 0xffffffffu : (1u << left) - 1;
        w->parked = w->carry = 0;
        w->waiting = -1;
        branch(w, 0xffffffffu, m->launch->kernel->first);
        memset(w->depth, 0, sizeof w->depth);
        memset(w->clock, 0, sizeof w->clock);
        memset(w->fenced, 0, sizeof w->fenced);
        w->lanes_met = w->clock[v] = 1;
        memset(w->copy_groups, 0, sizeof w->copy_groups);
        w->copy_count = w->product_count = w->descriptor_count = 0;
        w->product_groups = 0;
        w->serial = w->done = w->fence = 0;
        memset(w->taken, 0, registers * sizeof *w->taken);
        memset(w->touched, 0, registers * sizeof *w->touched);
        poison(w->r, registers * sizeof(lanes));
    }
}

/* All warps of a warpgroup must have executed the same products on the same factors. */
static void compare_products(machine *m)
{
    m->now = NULL;
    for (int v = 0; v < m->warp_count; v++) {
        const warp *w = m->acting = &m->warps[v], *first = &m->warps[v / 4 * 4];
        if (w->descriptor_count != first->descriptor_count ||
            (w->descriptor_count > 0 &&
             memcmp(w->descriptors, first->descriptors,
                    (size_t)w->descriptor_count * sizeof *w->descriptors) != 0))
            machine_fail(m, 0, "the warps of a group of four give wgmma other factors");
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* From a random one on, by a random step. */
static void run_groups(machine *m)
{
    const uint32_t *groups = m->launch->groups;
    const uint64_t count = (uint64_t)groups[0] * groups[1] * groups[2];
    const uint64_t first = draw(m) % count;
    uint64_t stride = draw(m) % count + 1;
    while (common_divisor(stride, count) != 1)
        stride++;
    for (uint64_t n = 0; n < count; n++) {
        const uint64_t at = (first + n * stride) % count;
        m->group[0] = (uint32_t)(at % groups[0]);
        m->group[1] = (uint32_t)(at / groups[0] % groups[1]);
        m->group[2] = (uint32_t)(at / groups[0] / groups[1]);
        begin_group(m);
        run_group(m);
        compare_products(m);
    }
}

static void destroy(machine *m)
{
    for (int v = 0; v < MAX_WARPS; v++) {
        warp *w = &m->warps[v];
        for (int i = 0; i < w->product_capacity; i++)
            free(w->products[i].pieces);
        free(w->products);
        free(w->copies);
        free(w->descriptors);
        free(w->r);
        free(w->taken);
        free(w->touched);
    }
    free(m->shared);
    free(m->local);
    free(m->params);
    free(m->shadows);
    free(m->read_at);
    free(m->read_by);
    free(m);
}

static void check_launch(machine *m)
{
    const ptx_launch *l = m->launch;
    for (int d = 0; d < 3; d++)
        if (l->kernel->required[0] != 0 && l->kernel->required[d] != 0 &&
            l->kernel->required[d] != l->items[d])
            machine_fail(m, 0, "%s wants %u work-items in dimension %d, not %u", l->kernel->name,
                         l->kernel->required[d], d, l->items[d]);
    if (m->item_count == 0 || m->item_count > MAX_WARPS * LANES)
        machine_fail(m, 0, "%u work-items in a group", m->item_count);
}

bool ptx_run(const ptx_launch *launch, ptx_counts *counts, char message[512])
{
    machine *m = calloc(1, sizeof *m);
    if (m == NULL)
        return false;
    m->launch = launch;
    m->program = launch->program;
    m->counts = counts;
    m->message = message;
    m->random = launch->seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    m->item_count = launch->items[0] * launch->items[1] * launch->items[2];
    m->warp_count = (int)((m->item_count + LANES - 1) / LANES);
    m->time = 1;
    const bool is_right = setjmp(m->failed) == 0;
    if (is_right) {
        const size_t shared = (size_t)m->program->shared_bytes;
        check_launch(m);
        m->shared = allocate(m, shared + 16, 1);
        m->local =
            allocate(m, (size_t)m->program->local_bytes * (size_t)m->warp_count * LANES + 16, 1);
        m->params = allocate(m, launch->kernel->param_bytes + 16U, 1);
        memcpy(m->params, launch->params, launch->kernel->param_bytes);
        m->shadows = allocate(m, shared, sizeof *m->shadows);
        m->read_at = allocate(m, shared * (size_t)m->warp_count, sizeof *m->read_at);
        m->read_by = allocate(m, shared * (size_t)m->warp_count, 1);
        create_warps(m);
        run_groups(m);
    }
    destroy(m);
    return is_right;
}
