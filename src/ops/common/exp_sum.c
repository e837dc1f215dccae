#include "ops/common/exp_sum.h"

#include <math.h>

double tn_unit(tenon_dtype dtype)
{
    return tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
}

tn_exp_sum tn_exp_sum_of(tenon_dtype dtype, const double *x, int64_t step, int64_t size)
{
    tn_exp_sum row = {-INFINITY, 0, 0, tn_unit(dtype), tn_least_normal(dtype)};
    double bound = 0;
    for (int64_t i = 0; i < size; i++)
        row.most = x[i * step] > row.most ? x[i * step] : row.most;
    for (int64_t i = 0; i < size; i++) {
        double d = x[i * step] - row.most, e = exp(d);
        row.sum += e;
        /* d is rounded, and exp is accurate to 3 ulp. If exp is 0 here, so is the device's. */
        bound += row.least + (e > 0 ? e * expm1((6 + fabs(d)) * row.unit) : 0);
    }
    bound += tn_gamma((double)size, row.unit) * (row.sum + bound);
    row.relative = bound / row.sum;
    return row;
}

tn_bounded tn_softmax_at(const tn_exp_sum *row, double x)
{
    double d = x - row->most, e = exp(d), y = e / row->sum;
    if (e == 0)
        return (tn_bounded){y, 2 * row->least};
    double a = expm1((6 + fabs(d)) * row->unit);
    return (tn_bounded){y, 2 * row->least +
                               y * ((1 + a) * (1 + 6 * row->unit) / (1 - row->relative) - 1)};
}

tn_bounded tn_log_softmax_at(const tn_exp_sum *row, double x)
{
    double d = x - row->most, shift = log(row->sum), b = row->relative / (1 - row->relative);
    return (tn_bounded){d - shift, b + 6 * row->unit * (fabs(shift) + b) +
                                       2 * row->unit * (fabs(d) + fabs(shift)) + row->least};
}
