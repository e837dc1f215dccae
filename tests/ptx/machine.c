/* Execution of work-groups: their initial state, and the order in which they and their warps
 * run. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INSTRUCTIONS 200000000u /* per work-group, to detect endless loops */

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

static void report_stuck(machine *m)
{
    m->now = NULL;
    for (int v = 0; v < m->warp_count; v++)
        if (m->warps[v].waiting >= 0) {
            m->acting = &m->warps[v];
            machine_fail(m, 0, "barrier %d waits for warps that never arrive", m->warps[v].waiting);
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
            machine_fail(m, 0, "a work-group does not end");
    }
}

static void *allocate(machine *m, size_t count, size_t size)
{
    void *made = calloc(count > 0 ? count : 1, size);
    if (made == NULL)
        machine_fail(m, 0, "out of memory");
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

/* Initializes a work-group: memory and registers are undefined. */
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
        w->fence_lanes = 0;
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

/* Checks that all warps of a warpgroup have executed the same products on the same factors. */
static void compare_products(machine *m)
{
    m->now = NULL;
    for (int v = 0; v < m->warp_count; v++) {
        const warp *w = m->acting = &m->warps[v], *first = &m->warps[v / 4 * 4];
        if (w->descriptor_count != first->descriptor_count ||
            (w->descriptor_count > 0 &&
             memcmp(w->descriptors, first->descriptors,
                    (size_t)w->descriptor_count * sizeof *w->descriptors) != 0))
            machine_fail(m, 0, "the warps of a warpgroup execute wgmma with different factors");
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Runs all work-groups, starting at a random one and advancing by a random stride. */
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
            machine_fail(m, 0, "%s requires %u work-items in dimension %d, not %u", l->kernel->name,
                         l->kernel->required[d], d, l->items[d]);
    if (m->item_count == 0 || m->item_count > MAX_WARPS * LANES)
        machine_fail(m, 0, "%u work-items in a work-group are not supported", m->item_count);
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
