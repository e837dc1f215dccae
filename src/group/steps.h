/* The steps of a collective: which range of which tensor each member copies or combines. Every
 * process executes the same steps, those of its own members. */
#ifndef TN_GROUP_STEPS_H
#define TN_GROUP_STEPS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_collective_kind {
    TN_ALL_REDUCE,
    TN_REDUCE,
    TN_REDUCE_SCATTER,
    TN_ALL_GATHER,
    TN_BROADCAST,
    TN_ALL_TO_ALL,
    TN_BARRIER,
    TN_SEND, /* from one member to another: without steps */
    TN_RECEIVE
} tn_collective_kind;

static inline bool tn_kind_is_pair(tn_collective_kind kind)
{
    return kind == TN_SEND || kind == TN_RECEIVE;
}

/* A collective on tensors that are seen as one-dimensional arrays. */
typedef struct tn_collective {
    tn_collective_kind kind;
    uint32_t members; /* in all processes */
    uint32_t root;    /* of reduce and broadcast; the sender of TN_SEND and TN_RECEIVE */
    uint32_t to;      /* the receiver of TN_SEND and TN_RECEIVE */
    bool is_small;    /* all-reduce: every member combines everything */
    int64_t length;   /* elements of an input, or of one of its parts if it is divided */
} tn_collective;

/* A range of `length`: collectives on large tensors are executed range by range. */
typedef struct tn_range {
    int64_t start, count;
} tn_range;

#define TN_ALL_MEMBERS UINT32_MAX

/* Ranges that end before the last element have a multiple of this number of elements, and so do the
 * shares of members, so that they are aligned for vectors. */
#define TN_GROUP_ALIGNMENT 64

/* Writes `count` elements of the output of member `to`, from `to_start` on. The source is the same
 * number of elements from `from_start` on, of the input of member `from`, or of its output if
 * `from_output`; or, for TN_ALL_MEMBERS, the combination of that range of all inputs. */
typedef struct tn_group_step {
    uint32_t to, from;
    bool from_output;
    int64_t to_start, from_start, count;
} tn_group_step;

/* Phases end before the next one begins: a step may read an output that an earlier phase wrote. */
#define TN_GROUP_PHASES 2

/* Returns the number of steps in a phase. */
uint32_t tn_group_step_count(const tn_collective *collective, uint32_t phase);

/* Returns a step of a phase for a range. Its count may be 0. */
tn_group_step tn_group_step_at(const tn_collective *collective, tn_range range, uint32_t phase,
                               uint32_t index);

#endif
