/* How packed matrices lie, in plain C. */
#include "check/host.h"
#include "ops/packed/internal.h"

#include <string.h>

int64_t tn_packed_position(int64_t rows, int64_t cols, int64_t panel, int64_t number)
{
    const int64_t padded = tn_packed_padded(cols, panel);
    const int64_t col = number % cols, row = number / cols % rows, matrix = number / cols / rows;
    return matrix * rows * padded + col / panel * rows * panel + row * panel + col % panel;
}

void tn_pack_reference(const tenon_tensor *view, int64_t panel, void *packed)
{
    const int64_t rows = view->shape[view->rank - 2], cols = view->shape[view->rank - 1];
    const int64_t count = tenon_tensor_elements(view);
    const size_t size = tenon_dtype_size(view->dtype);
    int64_t index[TENON_MAX_RANK] = {0};
    memset(packed, 0, (size_t)(count / cols * tn_packed_padded(cols, panel)) * size);
    for (int64_t i = 0; i < count; i++) {
        memcpy((unsigned char *)packed + (size_t)tn_packed_position(rows, cols, panel, i) * size,
               tn_host_element(view, index), size);
        tn_next_index(index, view->shape, view->rank);
    }
}
