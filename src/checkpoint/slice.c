/* Comparison of a file's tensors with those of the caller, and the places of slices. */
#include "checkpoint/header.h"

bool tn_file_tensor_matches(const tn_file_tensor *tensor, const tenon_tensor *view, uint32_t first)
{
    bool matches =
        tensor->type != NULL && tensor->type->dtype == view->dtype && tensor->rank == view->rank;
    for (uint32_t d = first; matches && d < view->rank; d++)
        matches = tensor->shape[d] == view->shape[d];
    return matches;
}

int64_t tn_entries(uint32_t rank, const int64_t *shape)
{
    return rank > 0 ? shape[0] : 1;
}

bool tn_file_tensor_has(const tn_file_tensor *tensor, int64_t start, const tenon_tensor *slice,
                        uint64_t *place)
{
    const int64_t entries = tn_entries(tensor->rank, tensor->shape),
                  size = tn_entries(slice->rank, slice->shape);
    if (start < 0 || size > entries || start > entries - size)
        return false;
    const uint64_t entry = entries > 0 ? (tensor->end - tensor->begin) / (uint64_t)entries : 0;
    *place = tensor->begin + entry * (uint64_t)start;
    return true;
}
