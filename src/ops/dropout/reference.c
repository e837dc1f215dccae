/* The reference of dropout. */
#include "ops/common/exp_sum.h"
#include "ops/common/philox.h"
#include "ops/dropout/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

bool tn_dropout_reference(const void *user, const tenon_tensor *const *views, tn_bounded *results)
{
    const tenon_dropout_params *params = user;
    const tenon_tensor *y = views[DROPOUT_Y];
    const double unit = tn_unit(y->dtype), least = tn_least_normal(y->dtype);
    const int64_t count = tenon_tensor_elements(y);
    const int64_t threshold = tn_philox_threshold(params->probability);
    double scalars[TN_MAX_SCALARS], *x = tn_host_read(views[DROPOUT_X], y->rank, y->shape);
    if (x == NULL)
        return false;
    tn_dropout_scalars(params, scalars);
    const double scale = y->dtype == TENON_DTYPE_F64 ? scalars[3] : (double)(float)scalars[3];
    for (int64_t i = 0; i < count; i++) {
        const bool dropped =
            tn_philox_word(params->seed, params->sequence, (uint64_t)i) < threshold;
        const double value = x[i] * scale;
        /* A scale of 1 gives x itself; a product by any other is rounded once. What is flushed of x
         * counts as often as the scale says. */
        const double bound = (scale != 1 ? unit * fabs(value) : 0) +
                             (x[i] != 0 && fabs(value) < 2 * scale * least ? 2 * scale * least : 0);
        results[i] = dropped ? (tn_bounded){0, 0} : tn_stored(y->dtype, (tn_bounded){value, bound});
    }
    free(x);
    return true;
}

tenon_status tn_dropout_self_check(tenon_stream *stream, const tn_problem *problem,
                                   const tn_choice *choice, bool *right, char why[256])
{
    const tenon_dtype dtype = (tenon_dtype)((const tn_lines_problem *)problem)->dtype;
    tenon_dropout_params params = TENON_DROPOUT_PARAMS_INIT;
    params.seed = UINT64_C(0x0123456789abcdef);
    params.sequence = UINT64_C(0xfedcba9876543210);
    params.probability = 0.3;
    tn_lines_trial trial = {.of = &tn_operation_dropout,
                            .dtype = {dtype, dtype},
                            .params = &params,
                            .canonicalise = tn_dropout_canonicalise};
    tn_dropout_scalars(&params, trial.scalars);
    return tn_lines_self_check(stream, choice, &trial, right, why);
}
