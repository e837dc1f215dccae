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
} accuracies[] = {[TENON_GRID_SAMPLE_LINEAR] = {2, GRID_LINEAR_ROUNDINGS},
                  [TENON_GRID_SAMPLE_NEAREST] = {0, 0},
                  [TENON_GRID_SAMPLE_CUBIC] = {9, GRID_CUBIC_ROUNDINGS}};

static grid_place find_place(double g, int64_t size, bool aligned, double roundoff)
{
    const double n = (double)size, magnitude = (fabs(g) + 1) * n / 2 + 0.5;
    const double at = aligned ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    return (grid_place){at > GRID_MOST_SIZE    ? GRID_MOST_SIZE
                        : at < -GRID_MOST_SIZE ? -GRID_MOST_SIZE
                                               : at,
                        4 * roundoff * magnitude};
}

void tn_grid_find_place(const tenon_grid_sample_params *params, const double *coordinates,
                        uint32_t dims, const int64_t size[3], double roundoff, grid_place at[3])
{
    const bool aligned = (params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0;
    at[0] = (grid_place){0, 0};
    for (uint32_t d = 3 - dims; d < 3; d++)
        at[d] = find_place(coordinates[2 - d], size[d], aligned, roundoff);
}

int64_t tn_grid_element(const int64_t given[3], const int64_t size[3],
                        const tenon_grid_sample_params *params)
{
    const bool aligned = (params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0;
    int64_t at[] = {given[0], given[1], given[2]};
    for (int d = 0; d < 3; d++) {
        if (params->padding == TENON_GRID_SAMPLE_ZEROS && (at[d] < 0 || at[d] >= size[d]))
            return -1;
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
    return (at[0] * size[1] + at[1]) * size[2] + at[2];
}

/* Keys' filter with coefficient -0.75, and the triangle of linear interpolation. */
double tn_grid_filter(uint32_t mode, double distance)
{
    const double t = fabs(distance), a = -0.75;
    if (mode == TENON_GRID_SAMPLE_LINEAR)
        return t < 1 ? 1 - t : 0;
    return t < 1   ? (a + 2) * t * t * t - (a + 3) * t * t + 1
           : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a
                   : 0;
}

/* An image of a channel, and the call's parameters. */
typedef struct grid_image {
    const double *values;
    int64_t size[3];
    const tenon_grid_sample_params *params;
} grid_image;

static double padded(const grid_image *image, int64_t i, int64_t j, int64_t k)
{
    const int64_t at[] = {i, j, k}, element = tn_grid_element(at, image->size, image->params);
    return element < 0 ? 0 : image->values[element];
}

/* Any of the elements that may be nearest. */
static tn_bounded nearest_of(const grid_image *image, const grid_place at[3])
{
    int64_t first[3], last[3];
    for (int d = 0; d < 3; d++) {
        first[d] = (int64_t)rint(at[d].at - at[d].error);
        last[d] = (int64_t)rint(at[d].at + at[d].error);
    }
    const double x = padded(image, first[0], first[1], first[2]);
    double least = x, most = x;
    bool is_one = true, is_finite = true;
    for (int64_t i = first[0]; i <= last[0]; i++)
        for (int64_t j = first[1]; j <= last[1]; j++)
            for (int64_t k = first[2]; k <= last[2]; k++) {
                const double other = padded(image, i, j, k);
                is_one = is_one && i == first[0] && j == first[1] && k == first[2];
                is_finite = is_finite && isfinite(other);
                least = fmin(least, other);
                most = fmax(most, other);
            }
    if (is_one)
        return (tn_bounded){x, 0};
    return is_finite ? (tn_bounded){(least + most) / 2, (most - least) / 2}
                     : (tn_bounded){0, TN_ANYTHING};
}

static tn_bounded interpolated(const grid_image *image, const grid_place at[3], double roundoff,
                               tenon_dtype dtype)
{
    const uint32_t mode = image->params->mode;
    const bool is_volume = image->size[0] > 1 || at[0].error > 0;
    const int64_t plane = (int64_t)floor(at[0].at), row = (int64_t)floor(at[1].at),
                  column = (int64_t)floor(at[2].at);
    double sum = 0, most = 0;
    for (int64_t i = plane - (is_volume ? 2 : 0); i <= plane + (is_volume ? 3 : 0); i++)
        for (int64_t j = row - 2; j <= row + 3; j++)
            for (int64_t k = column - 2; k <= column + 3; k++) {
                const double x = padded(image, i, j, k);
                if (!isfinite(x))
                    return (tn_bounded){0, TN_ANYTHING};
                most = fmax(most, fabs(x));
                sum += x * tn_grid_filter(mode, (double)i - at[0].at) *
                       tn_grid_filter(mode, (double)j - at[1].at) *
                       tn_grid_filter(mode, (double)k - at[2].at);
            }
    const double error = at[0].error + at[1].error + at[2].error;
    return (tn_bounded){
        sum, (accuracies[mode].slope * error + accuracies[mode].roundings * roundoff) * most +
                 40 * tn_least_normal(dtype)};
}

static tn_bounded grid_result(const grid_image *image, const double *coordinates, uint32_t dims,
                              tenon_dtype dtype)
{
    const double u = tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    grid_place at[3] = {{0, 0}, {0, 0}, {0, 0}};
    tn_grid_find_place(image->params, coordinates, dims, image->size, u, at);
    if (isnan(at[0].at) || isnan(at[1].at) || isnan(at[2].at))
        return (tn_bounded){(double)NAN, 0};
    if (!(at[0].error < 0.5 && at[1].error < 0.5 && at[2].error < 0.5))
        return (tn_bounded){0, TN_ANYTHING};
    return tn_stored(dtype, image->params->mode == TENON_GRID_SAMPLE_NEAREST
                                ? nearest_of(image, at)
                                : interpolated(image, at, u, dtype));
}

bool tn_grid_sample_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[GRID_X], *grid_view = v[GRID_PLACES], *y = v[GRID_Y];
    const uint32_t dims = x->rank - 2;
    int64_t out[3];
    grid_image image = {.params = given};
    tn_grid_sizes(x, image.size);
    tn_grid_sizes(y, out);
    const int64_t elements = image.size[0] * image.size[1] * image.size[2],
                  places = out[0] * out[1] * out[2];
    double *values = tn_host_read(x, x->rank, x->shape),
           *grid = tn_host_read(grid_view, grid_view->rank, grid_view->shape);
    const bool whole = values != NULL && grid != NULL;
    for (int64_t i = 0; whole && i < tenon_tensor_elements(y); i++) {
        const int64_t n = i / (x->shape[1] * places);
        image.values = values + i / places * elements;
        *results++ = grid_result(&image, grid + dims * (n * places + i % places), dims, x->dtype);
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

/* Returns an image of two or three spatial dimensions whose rows are not contiguous. */
static tenon_tensor image_view(const grid_problem *like, const int64_t *size)
{
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const bool channels_last = tn_image_by_channels(like->y);
    if (like->dims == 2)
        return tn_image_view(dtype, channels_last, 2, 11, size);
    tenon_tensor view =
        tn_image_view(dtype, channels_last, 2, 11, (const int64_t[]){size[0], size[1] * size[2]});
    view.rank = 5;
    view.shape[3] = size[1];
    view.shape[4] = size[2];
    view.stride[4] = view.stride[3];
    view.stride[3] *= size[2];
    return view;
}

void tn_grid_awkward_views(const grid_problem *like, tenon_grid_sample_params *params,
                           tenon_tensor *x, tenon_tensor *grid, tenon_tensor *y)
{
    const int64_t size[] = {9, 13, 4}, out[] = {7, 5, 3},
                  places[] = {2, 7, 5, like->dims == 2 ? 2 : 3, 3};
    params->mode = like->mode;
    params->padding = like->padding;
    params->flags = (like->flags & GRID_ALIGNED) != 0 ? TENON_GRID_SAMPLE_ALIGN_CORNERS : 0;
    *x = image_view(like, size);
    *y = image_view(like, out);
    *grid =
        tn_awkward_view((like->flags & GRID_WIDE) != 0 ? TENON_DTYPE_F32 : (tenon_dtype)like->dtype,
                        (uint32_t)like->dims + 2, places, true);
}

/* In the layout and with the dimensions of the problem at hand. */
bool tn_grid_sample_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    (void)choice;
    if (number > 0)
        return false;
    tn_awkward_begin(c, &tn_operation_grid_sample);
    tn_grid_awkward_views((const grid_problem *)problem,
                          (tenon_grid_sample_params *)c->params.bytes, &c->views[GRID_X],
                          &c->views[GRID_PLACES], &c->views[GRID_Y]);
    return true;
}
