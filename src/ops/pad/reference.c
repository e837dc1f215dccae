/* The reference of padding, and its awkward cases. */
#include "check/awkward.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/host.h"
#include "ops/pad/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

/* Returns the index in x of the element at `at`, counted in y from the start of x; -1: none. */
static int64_t source_of(uint32_t mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size)
        return at;
    if (mode == TENON_PAD_CONSTANT)
        return -1;
    if (mode == TENON_PAD_EDGE)
        return at < 0 ? 0 : size - 1;
    return at < 0 ? -at : 2 * (size - 1) - at;
}

bool tn_pad_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_pad_params *params = given;
    const tenon_tensor *x = v[PAD_X], *y = v[PAD_Y];
    int64_t index[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(y);
    unsigned char element[8];
    tn_dtype_store(y->dtype, element, params->value);
    const double value = tn_dtype_load(y->dtype, element);
    double *values = tn_host_read(x, x->rank, x->shape);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        int64_t at = 0;
        for (uint32_t d = 0; d < y->rank && at >= 0; d++) {
            int64_t source = source_of(params->mode, index[d] - params->begin[d], x->shape[d]);
            at = source < 0 ? -1 : at * x->shape[d] + source;
        }
        results[i] = (tn_bounded){at < 0 ? value : values[at], 0};
        tn_next_index(index, y->shape, y->rank);
    }
    bool whole = values != NULL;
    free(values);
    return whole;
}

/* Pads before, after and on both sides, in each mode, dense and with gaps, with a plane that
 * several work-items share. */
bool tn_pad_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    static const int64_t sizes[][3] = {{5, 61, 35}, {6, 63, 40}};
    tenon_pad_params *params = (tenon_pad_params *)c->params.bytes;
    (void)choice;
    if (number == 6)
        return false;
    tn_awkward_begin(c, &tn_operation_pad);
    params->mode = number / 2;
    params->value = 3;
    params->begin[0] = 1;
    params->end[1] = 2;
    params->begin[2] = 3;
    params->end[2] = 2;
    for (uint32_t i = 0; i < PAD_OPERANDS; i++)
        c->views[i] = tn_awkward_view((tenon_dtype)((const pad_problem *)problem)->dtype, 3,
                                      sizes[i], number % 2 != 0);
    return true;
}
