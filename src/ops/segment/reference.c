/* References of reductions and scans of segments. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/host.h"
#include "ops/common/combine.h"
#include "ops/common/exp_sum.h"
#include "ops/registry.h"
#include "ops/segment/internal.h"

#include <math.h>
#include <stdlib.h>

/* The lists of a call on the host: for each position its row, or -1 if it is skipped; its weight,
 * and its segment, or -1. */
typedef struct segment_lists {
    int64_t positions;
    int64_t *row, *segment;
    double *weight;
} segment_lists;

static void free_lists(segment_lists *l)
{
    free(l->row);
    free(l->segment);
    free(l->weight);
}

static double at(const tenon_tensor *list, int64_t i)
{
    return tn_dtype_load(list->dtype, tn_host_element(list, &i));
}

/* Assigns positions to segments: by number, by offset, or by equal lengths. */
static void assign(const tenon_tensor *segments, bool by_id, int64_t count, segment_lists *l)
{
    for (int64_t p = 0; p < l->positions; p++)
        l->segment[p] = by_id ? (int64_t)at(segments, p) : -1;
    for (int64_t s = 0; s < count && !by_id; s++) {
        const int64_t length = segments != NULL ? 0 : l->positions / count;
        const int64_t begin = segments != NULL ? (int64_t)at(segments, s) : s * length;
        const int64_t end = segments != NULL ? (int64_t)at(segments, s + 1) : begin + length;
        for (int64_t p = begin < 0 ? 0 : begin; p < end && p < l->positions; p++)
            l->segment[p] = s;
    }
    for (int64_t p = 0; p < l->positions; p++)
        if (l->segment[p] < 0 || l->segment[p] >= count)
            l->segment[p] = -1;
}

/* Reads the lists of a call with these numbers of rows and segments. Returns false if memory is
 * short. */
static bool read_lists(const tenon_segment_params *params, const tenon_tensor *const *v,
                       int64_t rows, int64_t segments, segment_lists *l)
{
    const tenon_tensor *indices = v[SEGMENT_INDICES], *weights = v[SEGMENT_WEIGHTS];
    l->positions = indices != NULL ? indices->shape[0] : rows;
    l->row = tn_array(l->positions, sizeof *l->row);
    l->segment = tn_array(l->positions, sizeof *l->segment);
    l->weight = tn_array(l->positions, sizeof *l->weight);
    if (l->row == NULL || l->segment == NULL || l->weight == NULL)
        return false;
    for (int64_t p = 0; p < l->positions; p++) {
        const double row = indices != NULL ? at(indices, p) : (double)p;
        l->row[p] = row >= 0 && row < (double)rows ? (int64_t)row : -1;
        l->weight[p] = weights != NULL ? at(weights, p) : 1;
    }
    assign(v[SEGMENT_SEGMENTS], (params->flags & TENON_SEGMENT_IDS) != 0, segments, l);
    return true;
}

/* Returns the numbers of positions in each segment that are not skipped. */
static int64_t *counts_of(const segment_lists *l, int64_t segments)
{
    int64_t *counts = tn_array(segments, sizeof *counts);
    for (int64_t p = 0; counts != NULL && p < l->positions; p++)
        if (l->row[p] >= 0 && l->segment[p] >= 0)
            counts[l->segment[p]]++;
    return counts;
}

/* Returns a sum divided by a count that is at least 1. */
static tn_bounded divided(tenon_dtype dtype, tn_bounded sum, double count)
{
    const double value = sum.value / count;
    return (tn_bounded){value,
                        sum.bound / count + tn_unit(dtype) * fabs(value) + tn_least_normal(dtype)};
}

/* Sets `index` to element `column` of a row. */
static void index_of(const tenon_tensor *view, int64_t row, int64_t column, int64_t *index)
{
    for (uint32_t d = view->rank; d-- > 1; column /= view->shape[d])
        index[d] = column % view->shape[d];
    index[0] = row;
}

static tn_bounded reduced(const tenon_tensor *x, const segment_lists *l, uint32_t kind,
                          const int64_t *range, int64_t segment, int64_t column)
{
    const bool is_mean = kind == TENON_SEGMENT_MEAN;
    tn_combine s = tn_combine_begin(x->dtype, is_mean ? TN_COMBINE_SUM : kind);
    int64_t index[TENON_MAX_RANK];
    for (int64_t p = range[0]; p < range[1]; p++)
        if (l->segment[p] == segment && l->row[p] >= 0) {
            index_of(x, l->row[p], column, index);
            tn_combine_element(&s, tn_host_element(x, index), l->weight[p]);
        }
    /* A weight adds a rounding. */
    const double depth = tn_combine_depth(s.count, (double)(range[1] - range[0])) + 1;
    tn_bounded result = tn_combine_result(&s, depth);
    if (is_mean)
        result = divided(x->dtype, result, fmax(s.count, 1));
    return tn_stored(x->dtype, result);
}

bool tn_segment_reduce_reference(const void *given, const tenon_tensor *const *v,
                                 tn_bounded *results)
{
    const tenon_segment_params *params = given;
    const tenon_tensor *x = v[SEGMENT_X];
    const int64_t segments = v[SEGMENT_Y]->shape[0];
    const int64_t columns = tenon_tensor_elements(v[SEGMENT_Y]) / (segments > 0 ? segments : 1);
    segment_lists l = {0};
    const bool whole = read_lists(params, v, x->shape[0], segments, &l);
    int64_t begin = 0;
    for (int64_t s = 0; whole && s < segments; s++) {
        while (begin < l.positions && l.segment[begin] >= 0 && l.segment[begin] < s)
            begin++;
        while (begin < l.positions && l.segment[begin] < 0)
            begin++;
        int64_t end = begin;
        while (end < l.positions && l.segment[end] == s)
            end++;
        for (int64_t c = 0; c < columns; c++)
            results[s * columns + c] =
                reduced(x, &l, params->kind, (const int64_t[]){begin, end}, s, c);
    }
    free_lists(&l);
    return whole;
}

/* The sum of a row of the gradient: its value, and the sums of the magnitudes and bounds of its
 * terms. */
typedef struct gradient_sum {
    double value, magnitude, bound, count;
} gradient_sum;

static void add_term(gradient_sum *sum, tenon_dtype dtype, double dy, double weight, double count)
{
    const double value = dy * weight / count, least = tn_least_normal(dtype);
    const bool is_dy = weight == 1 && count <= 1;
    /* The product and the quotient are rounded, and the term if it is stored. */
    const tn_bounded term =
        tn_stored(dtype, (tn_bounded){value, 2 * tn_unit(dtype) * fabs(value) + 2 * least});
    sum->value += value;
    sum->magnitude += fabs(value) + (is_dy ? 0 : term.bound);
    sum->bound += is_dy ? 0 : term.bound;
    sum->count++;
}

/* Adds the terms of a column to the sums of all rows. */
static void add_column(const tenon_segment_params *params, const tenon_tensor *dy,
                       const segment_lists *l, const int64_t *counts, int64_t column,
                       gradient_sum *sums)
{
    int64_t index[TENON_MAX_RANK];
    for (int64_t p = 0; p < l->positions; p++) {
        if (l->row[p] < 0 || l->segment[p] < 0)
            continue;
        index_of(dy, l->segment[p], column, index);
        const double count = params->kind == TENON_SEGMENT_MEAN ? (double)counts[l->segment[p]] : 1;
        add_term(&sums[l->row[p]], dy->dtype, tn_dtype_load(dy->dtype, tn_host_element(dy, index)),
                 l->weight[p], count);
    }
}

bool tn_segment_reduce_backward_reference(const void *given, const tenon_tensor *const *v,
                                          tn_bounded *results)
{
    const tenon_segment_params *params = given;
    const tenon_tensor *dy = v[SEGMENT_DY], *dx = v[SEGMENT_DX];
    const int64_t rows = dx->shape[0], segments = dy->shape[0];
    const int64_t columns = tenon_tensor_elements(dx) / (rows > 0 ? rows : 1);
    const double unit = tn_unit(dx->dtype), least = tn_least_normal(dx->dtype);
    segment_lists l = {0};
    const bool read = read_lists(params, v, rows, segments, &l);
    int64_t *counts = read ? counts_of(&l, segments) : NULL;
    gradient_sum *sums = tn_array(rows, sizeof *sums);
    const bool whole = counts != NULL && sums != NULL;
    for (int64_t c = 0; whole && c < columns; c++) {
        memset(sums, 0, (size_t)rows * sizeof *sums);
        add_column(params, dy, &l, counts, c, sums);
        for (int64_t r = 0; r < rows; r++) {
            const gradient_sum *s = &sums[r];
            const double bound =
                tn_gamma(s->count, unit) * s->magnitude + s->bound + 3 * s->count * least;
            results[r * columns + c] = tn_stored(dx->dtype, (tn_bounded){s->value, bound});
        }
    }
    free(counts);
    free(sums);
    free_lists(&l);
    return whole;
}

/* The gradient of a weight: the scalar product of a row of x and a row of dy, divided by `count`.
 */
static tn_bounded weight_result(const tenon_tensor *x, const tenon_tensor *dy, int64_t row,
                                int64_t segment, int64_t columns, double count)
{
    const double unit = tn_unit(x->dtype), least = tn_least_normal(x->dtype);
    double value = 0, magnitude = 0;
    int64_t a[TENON_MAX_RANK], b[TENON_MAX_RANK];
    for (int64_t c = 0; c < columns; c++) {
        index_of(x, row, c, a);
        index_of(dy, segment, c, b);
        const double product = tn_dtype_load(x->dtype, tn_host_element(x, a)) *
                               tn_dtype_load(dy->dtype, tn_host_element(dy, b));
        value += product;
        magnitude += fabs(product);
    }
    const double terms = (double)columns + 8; /* and the lanes of a vector */
    const tn_bounded sum = {value, tn_gamma(terms, unit) * magnitude + 2 * terms * least};
    return tn_stored(x->dtype, divided(x->dtype, sum, count));
}

bool tn_segment_reduce_backward_weights_reference(const void *given, const tenon_tensor *const *v,
                                                  tn_bounded *results)
{
    const tenon_segment_params *params = given;
    const tenon_tensor *x = v[SEGMENT_WEIGHTS_X], *dy = v[SEGMENT_WEIGHTS_DY];
    const tenon_tensor *const lists[SEGMENT_OPERANDS] = {
        [SEGMENT_INDICES] = v[SEGMENT_WEIGHTS_INDICES],
        [SEGMENT_SEGMENTS] = v[SEGMENT_WEIGHTS_SEGMENTS]};
    const int64_t rows = x->shape[0], segments = dy->shape[0];
    int64_t columns = 1;
    for (uint32_t d = 1; d < x->rank; d++)
        columns *= x->shape[d];
    segment_lists l = {0};
    const bool read = read_lists(params, lists, rows, segments, &l);
    int64_t *counts = read ? counts_of(&l, segments) : NULL;
    for (int64_t p = 0; counts != NULL && p < l.positions; p++) {
        const int64_t s = l.segment[p];
        const double count = params->kind == TENON_SEGMENT_MEAN && s >= 0 ? (double)counts[s] : 1;
        results[p] = l.row[p] < 0 || s < 0 ? (tn_bounded){0, 0}
                                           : weight_result(x, dy, l.row[p], s, columns, count);
    }
    const bool whole = counts != NULL;
    free(counts);
    free_lists(&l);
    return whole;
}

static tn_bounded scanned(const tn_combine *s, int64_t before)
{
    return tn_stored(s->dtype, tn_combine_result(s, tn_combine_depth(s->count, (double)before)));
}

/* Scans the row of y that contains the index `place`, whose element along the axis is 0.
 * `segments` are broadcast to x, in row-major order. */
static void scan_row(const tenon_segment_scan_params *params, const tenon_tensor *x,
                     const double *segments, uint32_t axis, int64_t *place, const tn_axis_walk *w,
                     int64_t row, tn_bounded *results)
{
    const bool is_reverse = (params->flags & TENON_SEGMENT_SCAN_REVERSE) != 0;
    const bool is_exclusive = (params->flags & TENON_SEGMENT_SCAN_EXCLUSIVE) != 0;
    tn_combine s = tn_combine_begin(x->dtype, params->kind);
    double segment = 0;
    for (int64_t p = 0; p < w->size; p++) {
        const int64_t i = is_reverse ? w->size - 1 - p : p, to = tn_axis_walk_at(w, row, i);
        if (p > 0 && (segments[to] < segment || segments[to] > segment))
            s = tn_combine_begin(x->dtype, params->kind);
        segment = segments[to];
        place[axis] = i;
        if (is_exclusive)
            results[to] = scanned(&s, p);
        tn_combine_element(&s, tn_host_element(x, place), 1);
        if (!is_exclusive)
            results[to] = scanned(&s, p);
    }
    place[axis] = 0;
}

bool tn_segment_scan_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_segment_scan_params *params = given;
    const tenon_tensor *x = v[SEGMENT_SCAN_X];
    const uint32_t axis =
        (uint32_t)(params->axis < 0 ? params->axis + (int32_t)x->rank : params->axis);
    const tn_axis_walk w = tn_axis_walk_of(x, axis);
    double *segments = tn_host_read(v[SEGMENT_SCAN_SEGMENTS], x->rank, x->shape);
    int64_t place[TENON_MAX_RANK] = {0}, rows[TENON_MAX_RANK];
    memcpy(rows, x->shape, sizeof rows);
    rows[axis] = 1;
    for (int64_t row = 0; segments != NULL && row < w.outer * w.inner; row++) {
        scan_row(params, x, segments, axis, place, &w, row, results);
        tn_next_index(place, rows, x->rank);
    }
    const bool whole = segments != NULL;
    free(segments);
    return whole;
}
