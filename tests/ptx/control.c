/* Control flow of warps and lanes: scheduling, calls, branches and barriers. */
#include "internal.h"

#include <string.h>

void branch(warp *w, uint32_t mask, int to)
{
    for (EACH_LANE(l, mask))
        w->pc[l] = to;
}

/* Ends the lanes in `mask`. The other lanes are already at the next instruction. */
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

/* call (results), function, (arguments): arguments are copied to the function's own parameter
 * space. */
static void run_call(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    const ptx_operand *callee = &i->operands[0], *given = NULL;
    if (callee->form == PTX_VECTOR)
        callee = &i->operands[1];
    const int after = (int)(callee - i->operands) + 1;
    if (after < i->operand_count)
        given = &i->operands[after];
    const ptx_function *f = &m->program->functions[callee->number];
    for (EACH_LANE(l, mask)) {
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

/* Returns to the instruction after the call, with the result. */
static void run_return(machine *m, warp *w, uint32_t mask)
{
    for (EACH_LANE(l, mask)) {
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
    for (EACH_LANE(l, mask)) {
        if ((uint32_t)index[l] >= (uint32_t)targets[0])
            machine_fail(m, l, "target %u of %d", (uint32_t)index[l], targets[0]);
        w->pc[l] = targets[1 + (uint32_t)index[l]];
    }
}

/* PTX ISA, "Parallel Synchronization and Communication Instructions: bar.warp.sync". */
static void meet_lanes(warp *w)
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

/* PTX ISA, "bar{.cta}, barrier{.cta}": waits for all threads of the work-group, or for the given
 * number. */
static void arrive(machine *m, warp *w, const ptx_instruction *i)
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

/* Executes an instruction that does not affect control flow. */
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
            machine_fail(m, 0, "this form of the instruction is not supported");
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
            machine_fail(m, 0, "the kernel executes trap");
        break;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        run_barrier(m, w, i);
        break;
    default:
        run_plain(m, w, i, mask);
    }
}

/* Returns true if all live lanes of the warp must execute the instruction together: .aligned
 * instructions, and those that exchange values or synchronize. */
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
    for (EACH_LANE(l, mask))
        kept |= (uint32_t)((w->r[i->guard][l] & 1) != i->guard_negated) << l;
    return kept;
}

/* Returns the runnable lanes at the lowest pc. Choosing the lowest makes lanes reconverge after a
 * loop or branch. */
static uint32_t choose_lanes(const warp *w, int *pc)
{
    uint32_t mask = 0;
    *pc = -1;
    for (EACH_LANE(l, w->alive & ~w->parked)) {
        if (*pc < 0 || w->pc[l] < *pc) {
            *pc = w->pc[l];
            mask = 0;
        }
        mask |= w->pc[l] == *pc ? 1u << l : 0;
    }
    return mask;
}

/* Executes one instruction of one warp. */
static void step(machine *m, warp *w)
{
    int pc;
    uint32_t mask = choose_lanes(w, &pc);
    m->acting = w;
    if (mask == 0) { /* the lanes that these waited for have ended */
        w->parked = 0;
        mask = choose_lanes(w, &pc);
        if (mask != w->alive)
            machine_fail(m, 0, "lanes of a warp wait for one another at different places");
    }
    const ptx_instruction *i = m->now = &m->program->instructions[pc];
    if (is_collective(i)) {
        for (EACH_LANE(l, w->parked))
            mask |= w->pc[l] == pc ? 1u << l : 0;
        if (mask != w->alive) { /* the other lanes have not arrived yet */
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

void run_warp(machine *m, warp *w, uint64_t count)
{
    for (; count > 0 && w->alive != 0 && w->waiting < 0; count--)
        step(m, w);
}
