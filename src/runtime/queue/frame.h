/*
 * Frames, which map the launches of a child operation to the call that contains it, and the
 * allocation of workspaces.
 *
 * A compound operation, such as a convolution by matrix products, records child operations:
 * problems of another family. A child numbers its operands and scalars as if it were a call of its
 * own, and its workspace begins at byte 0. While a child is recorded, a frame maps
 *
 * - each of its operands to an operand of the parent, or to the parent's workspace, at an offset;
 * - each of its scalars (alpha, beta …) to a scalar of the parent or to a constant;
 * - its workspace to a part of the parent's.
 *
 * Frames nest, because a child may have children.
 */
#ifndef TN_RUNTIME_QUEUE_FRAME_H
#define TN_RUNTIME_QUEUE_FRAME_H

#include "runtime/queue/launch.h"

/* A workspace begins at a multiple of this many bytes, which suits every vector type. */
#define TN_WORKSPACE_ALIGNMENT 128

#define TN_FRAME_OPERANDS 16
#define TN_FRAME_SCALARS  16

typedef struct tn_frame {
    const struct tn_frame *outer; /* the frame of the parent itself; NULL: the parent is a call */
    uint64_t workspace;           /* where the child's workspace begins in the parent's, in bytes */
    struct {
        uint16_t operand; /* of the parent, or TN_WORKSPACE */
        int64_t offset;   /* in bytes, a multiple of the size of the child's elements */
    } operands[TN_FRAME_OPERANDS];
    struct {
        bool is_constant;
        uint16_t number; /* of the parent's scalar */
        double value;    /* of the constant */
    } scalars[TN_FRAME_SCALARS];
} tn_frame;

/* Returns a frame in which every operand and scalar is the parent's of the same number, and the
 * child's workspace follows the first `used` bytes of the parent's. */
tn_frame tn_frame_after(uint64_t used);

/* Maps the child's operand `child`; `offset` is in bytes. */
void tn_frame_operand(tn_frame *frame, uint32_t child, uint16_t operand, int64_t offset);

/* Maps the child's first scalars to constants, or to the parent's scalars from `first` on. */
void tn_frame_constants(tn_frame *frame, const double *values, uint32_t count);
void tn_frame_scalars(tn_frame *frame, uint16_t first, uint32_t count);

/* Between these two calls, launches that are recorded belong to a child. */
void tn_frame_enter(tn_recording *recording, tn_frame *frame);
void tn_frame_leave(tn_recording *recording);

/* Returns how many bytes of workspace a child may use if the parent may use `limit` and itself
 * needs the first `used`. */
uint64_t tn_frame_room(uint64_t limit, uint64_t used);

/* Returns where the workspace of the child that is being recorded begins in that of the call. */
uint64_t tn_frame_workspace(const tn_frame *frame);

/* A copy of a launch, with kernel arguments and patches that a frame has changed. A patch
 * (queue/launch.h) marks a kernel argument that each run of the plan fills in. */
typedef struct tn_framed_launch {
    tn_launch launch;
    tn_patch patches[TN_MAX_PATCHES];
    _Alignas(int64_t) unsigned char args[TN_MAX_ARGS_SIZE];
} tn_framed_launch;

/* Returns the launch in terms of the call's own operands, scalars and workspace: `framed`, or
 * `launch` itself if `frame` is NULL. Returns NULL if an operand's offset is not a multiple of its
 * element size. */
const tn_launch *tn_frame_resolve(const tn_frame *frame, const tn_launch *launch,
                                  tn_framed_launch *framed);

/*
 * Allocation of a compound operation's workspace to the temporary arrays of its steps, called
 * pieces.
 *
 * Steps are numbered in the order in which they are recorded. A piece is in use from its first step
 * to its last, and shares bytes with pieces that are not in use then. The workspace of a child is a
 * piece that is in use during one step.
 */
typedef struct tn_piece {
    uint64_t at, bytes;
    uint32_t first, last;
} tn_piece;

typedef struct tn_pieces {
    tn_piece *piece; /* memory of the caller, for as many pieces as it adds */
    uint32_t count;
    uint64_t bytes; /* of the whole workspace */
} tn_pieces;

/* Allocates a piece, and returns its offset: the lowest aligned one that is free from step `first`
 * to step `last`. */
uint64_t tn_pieces_add(tn_pieces *pieces, uint64_t bytes, uint32_t first, uint32_t last);

#endif
