#include "group/steps.h"

#include "base/checked.h"

/* Shares begin at multiples of this number of elements, so that they are aligned for vectors. */
#define SHARE_MULTIPLE 64

/* Returns where the share of a member begins. The share of the last member ends at `length`. */
static int64_t share_start(const tn_collective *c, uint32_t member)
{
    const int64_t blocks = tn_ceil_div(c->length, SHARE_MULTIPLE);
    /* Without a product that could overflow: the first members have one block more. */
    const int64_t each = blocks / c->members, more = blocks % c->members;
    return tn_min_i64((each * member + tn_min_i64(member, more)) * SHARE_MULTIPLE, c->length);
}

/* Returns the number of the other member with an index below members - 1. */
static uint32_t other(uint32_t member, uint32_t index)
{
    return index < member ? index : index + 1;
}

uint32_t tn_group_step_count(const tn_collective *c, uint32_t phase)
{
    const uint32_t n = c->members;
    if (c->kind == TN_ALL_REDUCE)
        return phase == 0 ? n : n * (n - 1);
    if (phase > 0)
        return 0;
    switch (c->kind) {
    case TN_REDUCE_SCATTER:
    case TN_BROADCAST:
        return n;
    case TN_ALL_GATHER:
    case TN_ALL_TO_ALL:
        return n * n;
    case TN_REDUCE:
    case TN_TRANSFER:
        return 1;
    default:
        return 0;
    }
}

tn_group_step tn_group_step_at(const tn_collective *c, uint32_t phase, uint32_t index)
{
    const uint32_t n = c->members;
    tn_group_step step = {.to = index, .from = TN_ALL_MEMBERS, .count = c->length};
    if (c->kind == TN_ALL_REDUCE) {
        const uint32_t share = phase == 0 ? index : index / (n - 1);
        step.to_start = step.from_start = share_start(c, share);
        step.count = share_start(c, share + 1) - step.to_start;
        if (phase > 0) {
            step.from = share;
            step.to = other(share, index % (n - 1));
            step.from_output = true;
        }
    } else if (c->kind == TN_REDUCE_SCATTER) {
        step.from_start = index * c->length;
    } else if (c->kind == TN_BROADCAST) {
        step.from = c->root;
    } else if (c->kind == TN_REDUCE) {
        step.to = c->root;
    } else if (c->kind == TN_TRANSFER) {
        step.from = c->root;
        step.to = c->to;
    } else { /* all-gather and all-to-all */
        step.to = index % n;
        step.from = index / n;
        step.to_start = step.from * c->length;
        step.from_start = c->kind == TN_ALL_TO_ALL ? step.to * c->length : 0;
    }
    return step;
}
