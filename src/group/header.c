#include "group/header.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

uint64_t tn_hash(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

void tn_header_set_tensors(tn_header *header, const tenon_tensor *tensors, uint32_t count,
                           int64_t length)
{
    header->dtype = (uint32_t)tensors[0].dtype;
    header->length = length;
    header->count = count;
    if (count == 1) {
        header->rank = tensors[0].rank;
        memcpy(header->shape, tensors[0].shape, tensors[0].rank * sizeof *header->shape);
        return;
    }
    header->shapes = TN_HASH_START;
    for (uint32_t i = 0; i < count; i++) {
        const tenon_tensor *t = &tensors[i];
        header->shapes = tn_hash(header->shapes, &t->rank, sizeof t->rank);
        header->shapes = tn_hash(header->shapes, t->shape, t->rank * sizeof *t->shape);
    }
}

/* Describes a call, for example "tenon_group_reduce of f32 2×3, kind 0, root 1". */
static void describe(const tn_header *h, char *text, size_t size)
{
    int used = snprintf(text, size, "%.40s", h->name);
    const bool combines =
                   h->kind == TN_ALL_REDUCE || h->kind == TN_REDUCE || h->kind == TN_REDUCE_SCATTER,
               has_root = h->kind == TN_REDUCE || h->kind == TN_BROADCAST;
    if (h->kind == TN_BARRIER)
        return;
    used += snprintf(text + used, size - (size_t)used, " of %s ",
                     tenon_dtype_string((tenon_dtype)h->dtype));
    if (h->count > 1)
        used +=
            snprintf(text + used, size - (size_t)used, "%u tensors of %lld elements, shapes 0x%08x",
                     (unsigned)h->count, (long long)h->length, (unsigned)(h->shapes & 0xffffffff));
    else if (h->rank == 0)
        used += snprintf(text + used, size - (size_t)used, "scalar");
    for (uint32_t d = 0; d < h->rank && d < TENON_MAX_RANK; d++)
        used += snprintf(text + used, size - (size_t)used, "%s%lld", d > 0 ? "x" : "",
                         (long long)h->shape[d]);
    if (combines)
        used += snprintf(text + used, size - (size_t)used, ", kind %u", (unsigned)h->combination);
    if (has_root)
        snprintf(text + used, size - (size_t)used, ", root %u", (unsigned)h->root);
}

static bool is_same(const tn_header *a, const tn_header *b)
{
    /* A send and its receive are different functions. */
    const bool is_pair = tn_kind_is_pair((tn_collective_kind)a->kind) &&
                         tn_kind_is_pair((tn_collective_kind)b->kind);
    return (is_pair || a->kind == b->kind) && a->number == b->number && a->length == b->length &&
           a->shapes == b->shapes && a->dtype == b->dtype && a->rank == b->rank &&
           a->count == b->count && a->combination == b->combination && a->root == b->root &&
           a->to == b->to && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
           (is_pair || memcmp(a->name, b->name, sizeof a->name) == 0);
}

tenon_status tn_header_compare(const tn_header *a, uint32_t a_rank, const tn_header *b,
                               uint32_t b_rank)
{
    char a_text[384], b_text[384];
    if (is_same(a, b))
        return TENON_OK;
    describe(a, a_text, sizeof a_text);
    describe(b, b_text, sizeof b_text);
    return tn_fail(TENON_ERROR_MISMATCH, "rank %u calls %s, but rank %u calls %s", (unsigned)a_rank,
                   a_text, (unsigned)b_rank, b_text);
}

tenon_status tn_header_check(const tn_header *header)
{
    if (header->status == TENON_OK)
        return TENON_OK;
    return tn_fail((tenon_status)header->status,
                   "the member of rank %u: earlier work has failed: %s", (unsigned)header->failed,
                   tenon_status_string((tenon_status)header->status));
}
