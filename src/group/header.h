/* Headers: what a process calls. They are exchanged before any data is moved, so that calls that do
 * not match are refused in all processes. */
#ifndef TN_GROUP_HEADER_H
#define TN_GROUP_HEADER_H

#include "group/message.h"
#include "group/steps.h"

/* A call as the message that describes it. All processes run on the same byte order. */
typedef struct tn_header {
    uint64_t number; /* of a collective: 1, 2, … */
    int64_t length;  /* elements of a tensor */
    int64_t shape[TENON_MAX_RANK];
    uint64_t shapes; /* hash of the shapes of many tensors */
    uint32_t kind;   /* tn_collective_kind */
    uint32_t dtype, rank, count;
    uint32_t combination, root, to;
    uint32_t status; /* TENON_OK, or why this process cannot take part */
    uint32_t failed; /* rank of the member that has failed */
    uint32_t unused;
    char name[40];
} tn_header;

#define TN_HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash FNV-1a of bytes, continued from h, which is TN_HASH_START at first. */
uint64_t tn_hash(uint64_t h, const void *bytes, size_t size);

/* Sets the tensor of a header: `count` tensors that are seen as one of `length` elements. */
void tn_header_set_tensors(tn_header *header, const tenon_tensor *tensors, uint32_t count,
                           int64_t length);

/* Fails with TENON_ERROR_MISMATCH if two processes make different calls. The ranks are those of
 * their first members. */
tenon_status tn_header_compare(const tn_header *a, uint32_t a_rank, const tn_header *b,
                               uint32_t b_rank);

/* Fails if a process cannot take part. */
tenon_status tn_header_check(const tn_header *header);

#endif
