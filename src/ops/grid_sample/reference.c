/* The reference of grid sampling, in double, and its awkward cases. docs/numerics.md derives the
 * bounds. */
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "check/host.h"
#include "ops/grid_sample/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* The slope of an interpolation relative to the largest element around the place, and the rounding
 * errors of its weights and sums, in roundoffs. */
static const struct {
    double slope, roundings;
} accuracies[] = {[TENON_GRID_SAMPLE_LINEAR] = {2, 12},
                  [TENON_GRID_SAMPLE_NEAREST] = {0, 0},
                  [TENON_GRID_SAMPLE_CUBIC] = {9, 300}};

/* A place along one dimension, in elements, and the error of a device's. */
typedef struct place {
    double at, error;
} place;

static place find_place(double g, int64_t size, bool aligned, double roundoff)
{
    const double n = (double)size, magnitude = (fabs(g) + 1) * n / 2 + 0.5;
    const double at = aligned ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    return (place){at > GRID_MOST_SIZE    ? GRID_MOST_SIZE
                   : at < -GRID_MOST_SIZE ? -GRID_MOST_SIZE
                                          : at,
                   4 * roundoff * magnitude};
}

/* An element of the padded image. */
static double padded(const double *plane, const int64_t *size, int64_t row, int64_t column,
                     const tenon_grid_sample_params *params)
{
    int64_t at[] = {row, column};
    for (int d = 0; d < 2; d++) {
        const bool aligned = (params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0;
        if (params->padding == TENON_GRID_SAMPLE_ZEROS && (at[d] < 0 || at[d] >= size[d]))
            return 0;
        if (params->padding == TENON_GRID_SAMPLE_BORDER || size[d] == 1)
            at[d] = tn_max_i64(0, tn_min_i64(at[d], size[d] - 1));
        if (aligned) { /* the distance to the nearest even multiple of size - 1 */
            const int64_t turn = size[d] > 1 ? 2 * (size[d] - 1) : 1, over = llabs(at[d]) % turn;
            at[d] = tn_min_i64(over, turn - over);
        } else { /* the same with elements of size 2, whose edges are even */
            const int64_t turn = 4 * size[d], over = llabs(2 * at[d] + 1) % turn;
            at[d] = (tn_min_i64(over, turn - over) - 1) / 2;
        }
    }
    return plane[at[0] * size[1] + at[1]];
}

/* Keys' filter with coefficient -0.75 at a distance, and the triangle of linear interpolation. */
static double filter_at(uint32_t mode, double distance)
{
    const double t = fabs(distance), a = -0.75;
    if (mode == TENON_GRID_SAMPLE_LINEAR)
        return t < 1 ? 1 - t : 0;
    return t < 1   ? (a + 2) * t * t * t - (a + 3) * t * t + 1
           : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a
                   : 0;
}

/* Any of the elements that may be nearest. */
static tn_bounded nearest_of(const double *plane, const int64_t *size,
                             const tenon_grid_sample_params *params, const place at[2])
{
    const int64_t first[] = {(int64_t)rint(at[0].at - at[0].error),
                             (int64_t)rint(at[1].at - at[1].error)},
                  last[] = {(int64_t)rint(at[0].at + at[0].error),
                            (int64_t)rint(at[1].at + at[1].error)};
    const double x = padded(plane, size, first[0], first[1], params);
    if (first[0] == last[0] && first[1] == last[1])
        return (tn_bounded){x, 0};
    double least = x, most = x;
    bool is_finite = true;
    for (int64_t i = first[0]; i <= last[0]; i++)
        for (int64_t j = first[1]; j <= last[1]; j++) {
            const double other = padded(plane, size, i, j, params);
            is_finite = is_finite && isfinite(other);
            least = fmin(least, other);
            most = fmax(most, other);
        }
    return is_finite ? (tn_bounded){(least + most) / 2, (most - least) / 2}
                     : (tn_bounded){0, TN_ANYTHING};
}

static tn_bounded interpolated(const double *plane, const int64_t *size,
                               const tenon_grid_sample_params *params, const place at[2],
                               double roundoff, tenon_dtype dtype)
{
    double sum = 0, most = 0;
    const int64_t row = (int64_t)floor(at[0].at), column = (int64_t)floor(at[1].at);
    for (int64_t i = row - 2; i <= row + 3; i++)
        for (int64_t j = column - 2; j <= column + 3; j++) {
            const double x = padded(plane, size, i, j, params);
            if (!isfinite(x))
                return (tn_bounded){0, TN_ANYTHING};
            most = fmax(most, fabs(x));
            sum += x * filter_at(params->mode, (double)i - at[0].at) *
                   filter_at(params->mode, (double)j - at[1].at);
        }
    return (tn_bounded){sum, (accuracies[params->mode].slope * (at[0].error + at[1].error) +
                              accuracies[params->mode].roundings * roundoff) *
                                     most +
                                 40 * tn_least_normal(dtype)};
}

static tn_bounded grid_result(const double *plane, const int64_t *size,
                              const tenon_grid_sample_params *params, const double *g,
                              tenon_dtype dtype)
{
    const double u = tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    const bool aligned = (params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0;
    const place at[] = {find_place(g[1], size[0], aligned, u),
                        find_place(g[0], size[1], aligned, u)};
    if (isnan(at[0].at) || isnan(at[1].at))
        return (tn_bounded){(double)NAN, 0};
    if (!(at[0].error < 0.5 && at[1].error < 0.5))
        return (tn_bounded){0, TN_ANYTHING};
    if (params->mode == TENON_GRID_SAMPLE_NEAREST)
        return tn_stored(dtype, nearest_of(plane, size, params, at));
    return tn_stored(dtype, interpolated(plane, size, params, at, u, dtype));
}

bool tn_grid_sample_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[GRID_X], *y = v[GRID_Y];
    const int64_t plane = x->shape[2] * x->shape[3], places = y->shape[2] * y->shape[3];
    double *values = tn_host_read(x, 4, x->shape),
           *grid = tn_host_read(v[GRID_PLACES], 4, v[GRID_PLACES]->shape);
    const bool whole = values != NULL && grid != NULL;
    for (int64_t i = 0; whole && i < tenon_tensor_elements(y); i++) {
        const int64_t image = i / (x->shape[1] * places);
        *results++ = grid_result(values + i / places * plane, x->shape + 2, given,
                                 grid + 2 * (image * places + i % places), x->dtype);
    }
    free(values);
    free(grid);
    return whole;
}

/* Places within and around the image. */
void tn_grid_sample_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[GRID_PLACES], -1.6, 1.6, seed);
}

/* In the layout of the problem at hand. */
bool tn_grid_sample_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    const grid_problem *like = (const grid_problem *)problem;
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const bool channels_last = like->x[1] == 1 && like->x[3] != 1;
    const int64_t size[] = {9, 13}, out[] = {7, 5}, places[] = {2, 7, 5, 2};
    (void)choice;
    if (number > 0)
        return false;
    tn_awkward_begin(c, &tn_operation_grid_sample);
    tenon_grid_sample_params *params = (tenon_grid_sample_params *)c->params.bytes;
    params->mode = like->mode;
    params->padding = like->padding;
    params->flags = (like->flags & GRID_ALIGNED) != 0 ? TENON_GRID_SAMPLE_ALIGN_CORNERS : 0;
    c->views[GRID_X] = tn_image_view(dtype, channels_last, 2, 11, size);
    c->views[GRID_Y] = tn_image_view(dtype, channels_last, 2, 11, out);
    c->views[GRID_PLACES] =
        tn_awkward_view((like->flags & GRID_WIDE) != 0 ? TENON_DTYPE_F32 : dtype, 4, places, true);
    return true;
}
