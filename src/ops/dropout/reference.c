/* The reference of dropout, and its awkward cases. */
#include "check/awkward.h"
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
    const double wide = params->probability < 1 ? 1 / (1 - params->probability) : 0;
    const double scale = y->dtype == TENON_DTYPE_F64 ? wide : (double)(float)wide;
    double *x = tn_host_read(views[DROPOUT_X], y->rank, y->shape);
    if (x == NULL)
        return false;
    for (int64_t i = 0; i < count; i++) {
        const bool dropped =
            tn_philox_word(params->seed, params->sequence, (uint64_t)i) < threshold;
        const double value = x[i] * scale;
        /* A scale of 1 leaves x exact; otherwise the product is rounded once. The scale magnifies
         * the error of a flushed x. */
        const double bound = (scale != 1 ? unit * fabs(value) : 0) +
                             (x[i] != 0 && fabs(value) < 2 * scale * least ? 2 * scale * least : 0);
        results[i] = dropped ? (tn_bounded){0, 0} : tn_stored(y->dtype, (tn_bounded){value, bound});
    }
    free(x);
    return true;
}

bool tn_dropout_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        tn_case *c)
{
    const tn_lines_problem *like = (const tn_lines_problem *)problem;
    tenon_dropout_params *params = (tenon_dropout_params *)c->params.bytes;
    (void)choice;
    if (number == TN_LINES_LAYOUTS)
        return false;
    tn_awkward_begin(c, &tn_operation_dropout);
    params->seed = UINT64_C(0x0123456789abcdef);
    params->sequence = UINT64_C(0xfedcba9876543210);
    params->probability = 0.3;
    for (uint32_t i = 0; i < DROPOUT_OPERANDS; i++)
        c->views[i] = tn_lines_awkward((tenon_dtype)like->dtype, number, i);
    return true;
}
