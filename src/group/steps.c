#include "group/steps.h"

#include "base/checked.h"

/* Returns where the share of a member begins. The share of the last member ends at `length`. */
static int64_t share_start(int64_t length, uint32_t members, uint32_t member)
{
    const int64_t blocks = tn_ceil_div(length, TN_GROUP_ALIGNMENT);
    /* Without a product that could overflow: the first members have one block more. */
    const int64_t each = blocks / members, more = blocks % members;
    return tn_min_i64((each * member + tn_min_i64(member, more)) * TN_GROUP_ALIGNMENT, length);
}

/* Returns the number of the other member with an index below members - 1. */
static uint32_t other(uint32_t member, uint32_t index)
{
    return index < member ? index : index + 1;
}

uint32_t tn_group_step_count(const tn_collective *c, uint32_t phase)
{
    const uint32_t n = c->members;
    if (phase > 0)
        return c->kind == TN_ALL_REDUCE && !c->is_small ? n * (n - 1) : 0;
    switch (c->kind) {
    case TN_ALL_REDUCE:
    case TN_REDUCE_SCATTER:
    case TN_BROADCAST:
        return n;
    case TN_ALL_GATHER:
    case TN_ALL_TO_ALL:
        return n * n;
    case TN_REDUCE:
        return 1;
    default:
        return 0;
    }
}

/* A member's share of an all-reduce: its combination, then its way to another member. */
static tn_group_step share_step(const tn_collective *c, tn_range range, uint32_t phase,
                                uint32_t index)
{
    const uint32_t n = c->members, share = phase == 0 ? index : index / (n - 1);
    const int64_t start = share_start(range.count, n, share);
    tn_group_step step = {.to = share, .from = TN_ALL_MEMBERS};
    step.to_start = step.from_start = range.start + start;
    step.count = share_start(range.count, n, share + 1) - start;
    if (phase > 0) {
        step.from = share;
        step.to = other(share, index % (n - 1));
        step.from_output = true;
    }
    return step;
}

tn_group_step tn_group_step_at(const tn_collective *c, tn_range range, uint32_t phase,
                               uint32_t index)
{
    const uint32_t n = c->members;
    tn_group_step step = {.to = index,
                          .from = TN_ALL_MEMBERS,
                          .to_start = range.start,
                          .from_start = range.start,
                          .count = range.count};
    if (c->kind == TN_ALL_REDUCE && !c->is_small)
        return share_step(c, range, phase, index);
    if (c->kind == TN_REDUCE_SCATTER) {
        step.from_start += index * c->length;
    } else if (c->kind == TN_BROADCAST) {
        step.from = c->root;
    } else if (c->kind == TN_REDUCE) {
        step.to = c->root;
    } else if (c->kind == TN_ALL_GATHER || c->kind == TN_ALL_TO_ALL) {
        step.to = index % n;
        step.from = index / n;
        step.to_start += step.from * c->length;
        step.from_start += c->kind == TN_ALL_TO_ALL ? step.to * c->length : 0;
    }
    return step;
}
