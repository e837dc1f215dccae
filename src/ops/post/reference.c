/* The reference of the terms after the activation; docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "check/host.h"
#include "ops/elementwise/internal.h"
#include "ops/post/post.h"

#include <stdlib.h>

bool tn_post_reference(const tenon_tensor *output, const tenon_tensor *const term[POST_TERMS],
                       tn_bounded *results)
{
    const int64_t count = tenon_tensor_elements(output);
    double *values[POST_TERMS] = {NULL};
    bool whole = true;
    for (int t = 0; t < POST_TERMS; t++)
        if (term[t] != NULL) {
            values[t] = tn_host_read(term[t], output->rank, output->shape);
            whole = whole && values[t] != NULL;
        }
    for (int64_t i = 0; whole && i < count; i++) {
        tn_bounded v = results[i];
        if (v.bound == TN_ANYTHING)
            continue;
        if (values[POST_SCALE] != NULL)
            v = tn_chain_times(output->dtype, v, values[POST_SCALE][i]);
        if (values[POST_SHIFT] != NULL)
            v = tn_chain_plus(output->dtype, v, values[POST_SHIFT][i]);
        if (values[POST_RESIDUAL] != NULL)
            v = tn_chain_plus(output->dtype, v, values[POST_RESIDUAL][i]);
        results[i] = tn_stored(output->dtype, v);
    }
    for (int t = 0; t < POST_TERMS; t++)
        free(values[t]);
    return whole;
}
