/* Frames, and the allocation of workspaces: see frame.h. */
#include "runtime/queue/frame.h"

#include <string.h>

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + TN_WORKSPACE_ALIGNMENT - 1) / TN_WORKSPACE_ALIGNMENT * TN_WORKSPACE_ALIGNMENT;
}

tn_frame tn_frame_after(uint64_t used)
{
    tn_frame frame = {.workspace = aligned(used)};
    for (uint32_t i = 0; i < TN_FRAME_OPERANDS; i++)
        frame.operands[i].operand = (uint16_t)i;
    for (uint32_t i = 0; i < TN_FRAME_SCALARS; i++)
        frame.scalars[i].number = (uint16_t)i;
    return frame;
}

void tn_frame_operand(tn_frame *frame, uint32_t child, uint16_t operand, int64_t offset)
{
    frame->operands[child].operand = operand;
    frame->operands[child].offset = offset;
}

void tn_frame_constants(tn_frame *frame, const double *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        frame->scalars[i].is_constant = true;
        frame->scalars[i].value = values[i];
    }
}

void tn_frame_scalars(tn_frame *frame, uint16_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        frame->scalars[i].is_constant = false;
        frame->scalars[i].number = (uint16_t)(first + i);
    }
}

void tn_frame_enter(tn_recording *recording, tn_frame *frame)
{
    frame->outer = recording->frame;
    recording->frame = frame;
}

void tn_frame_leave(tn_recording *recording)
{
    recording->frame = recording->frame->outer;
}

uint64_t tn_frame_room(uint64_t limit, uint64_t used)
{
    return aligned(used) < limit ? limit - aligned(used) : 0;
}

uint64_t tn_frame_workspace(const tn_frame *frame)
{
    uint64_t bytes = 0;
    for (; frame != NULL; frame = frame->outer)
        bytes += frame->workspace;
    return bytes;
}

/* Returns the call's operand for operand `number` of the innermost child, or TN_WORKSPACE. Sets
 * `*offset` to the sum of the frames' offsets in bytes. */
static uint16_t find_operand(const tn_frame *frame, uint16_t number, int64_t *offset)
{
    *offset = 0;
    for (; frame != NULL; frame = frame->outer) {
        const bool is_own = number == TN_WORKSPACE;
        *offset += is_own ? (int64_t)frame->workspace : frame->operands[number].offset;
        number = is_own ? TN_WORKSPACE : frame->operands[number].operand;
    }
    return number;
}

/* Returns the constant to which the frames map scalar `*number` of the innermost child; otherwise
 * NULL, and sets `*number` to the call's scalar. */
static const double *find_scalar(const tn_frame *frame, uint16_t *number)
{
    for (; frame != NULL; frame = frame->outer) {
        if (frame->scalars[*number].is_constant)
            return &frame->scalars[*number].value;
        *number = frame->scalars[*number].number;
    }
    return NULL;
}

/* Writes the constant of a scalar to the kernel arguments. Returns false if the scalar is one of
 * the call's, whose value is not known yet. */
static bool write_constant(const tn_frame *frame, tn_patch *patch, unsigned char *args)
{
    const double *constant = find_scalar(frame, &patch->source);
    if (constant == NULL)
        return false;
    const int64_t bits = tn_patch_scalar(patch->kind, constant);
    memcpy(args + patch->at, &bits, sizeof bits);
    return true;
}

/* Adds the frames' offset of an operand to the kernel arguments. Returns false if the offset is not
 * a multiple of the patch's unit, the size of an element. */
static bool move_operand(const tn_frame *frame, tn_patch *patch, unsigned char *args)
{
    int64_t value, offset;
    patch->source = find_operand(frame, patch->source, &offset);
    memcpy(&value, args + patch->at, sizeof value);
    value += offset / (int64_t)patch->unit;
    memcpy(args + patch->at, &value, sizeof value);
    return offset % (int64_t)patch->unit == 0;
}

const tn_launch *tn_frame_resolve(const tn_frame *frame, const tn_launch *launch,
                                  tn_framed_launch *framed)
{
    int64_t offset;
    uint32_t count = 0;
    if (frame == NULL)
        return launch;
    framed->launch = *launch;
    memcpy(framed->args, launch->args, launch->args_size);
    for (uint32_t i = 0; i < launch->operand_count; i++)
        framed->launch.operands[i] = find_operand(frame, launch->operands[i], &offset);
    for (uint32_t i = 0; i < launch->patch_count; i++) {
        tn_patch patch = launch->patches[i];
        if (patch.kind == TN_PATCH_OFFSET && !move_operand(frame, &patch, framed->args))
            return NULL;
        if (patch.kind == TN_PATCH_OFFSET || !write_constant(frame, &patch, framed->args))
            framed->patches[count++] = patch;
    }
    framed->launch.args = framed->args;
    framed->launch.patches = framed->patches;
    framed->launch.patch_count = count;
    return &framed->launch;
}

/* Returns a piece that overlaps `wanted` both in lifetime and in bytes, or NULL. */
static const tn_piece *conflict(const tn_pieces *pieces, const tn_piece *wanted)
{
    for (uint32_t i = 0; i < pieces->count; i++) {
        const tn_piece *p = &pieces->piece[i];
        if (p->first <= wanted->last && wanted->first <= p->last &&
            p->at < wanted->at + wanted->bytes && wanted->at < p->at + p->bytes)
            return p;
    }
    return NULL;
}

uint64_t tn_pieces_add(tn_pieces *pieces, uint64_t bytes, uint32_t first, uint32_t last)
{
    tn_piece wanted = {0, aligned(bytes), first, last};
    const tn_piece *other;
    /* The lowest free offset is 0 or the end of a piece; each conflict moves the offset up. */
    while ((other = conflict(pieces, &wanted)) != NULL)
        wanted.at = other->at + other->bytes;
    pieces->piece[pieces->count++] = wanted;
    if (wanted.at + wanted.bytes > pieces->bytes)
        pieces->bytes = wanted.at + wanted.bytes;
    return wanted.at;
}
