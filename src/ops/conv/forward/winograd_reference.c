/* The convolutions that Winograd's method supports; its reference in double precision, and its
 * error bound, which depends on all inputs of a tile. docs/numerics.md derives the bound. */
#include "base/checked.h"
#include "ops/conv/forward/winograd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIDE   6
#define MOST_POINTS (MOST_SIDE * MOST_SIDE)

/* Bytes of the transformed data of one filter and channel, if a panel has only one. */
#define MOST_BYTES (36 * 64 * 8)

const char *tn_winograd_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t size;
    if (p->exact)
        return "it rearranges sums, and the call requests TENON_CONV_EXACT";
    if (v->filter[0] != 1 || v->filter[1] != 3 || v->filter[2] != 3)
        return "the filter is not 3x3";
    if (v->size[0] != 1 || v->out[0] != 1 || v->start[0] != 0)
        return "the image has more than two dimensions";
    for (int d = 1; d < 3; d++)
        if (v->stride[d] != 1 || v->dilation[d] != 1)
            return "the stride or the dilation is not 1";
    if (!tn_mul_i64(p->c, p->groups * p->k, &size) || !tn_mul_i64(size, MOST_BYTES, &size))
        return "the size of the transformed filters overflows";
    return p->c == 0 || tn_window_empty(v) || (p->flags & CONV_SKIP_XW) != 0
               ? "there is nothing to multiply"
               : NULL;
}

/* The matrices B', G and A' of conv/forward/winograd.clh, for tiles of m outputs. B' and G have m
 * + 2 rows. */
typedef struct transforms {
    double input[MOST_SIDE][MOST_SIDE], filter[MOST_SIDE][MOST_SIDE], output[MOST_SIDE][MOST_SIDE];
} transforms;

static const transforms transforms2 = {
    .input = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    .filter = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    .output = {{1, 1, 1, 0}, {0, 1, -1, -1}}};

static const transforms transforms4 = {
    .input = {{4, 0, -5, 0, 1, 0},
              {0, -4, -4, 1, 1, 0},
              {0, 4, -4, -1, 1, 0},
              {0, -2, -1, 2, 1, 0},
              {0, 2, -1, -2, 1, 0},
              {0, 4, 0, -5, 0, 1}},
    .filter = {{1.0 / 4, 0, 0},
               {-1.0 / 6, -1.0 / 6, -1.0 / 6},
               {-1.0 / 6, 1.0 / 6, -1.0 / 6},
               {1.0 / 24, 1.0 / 12, 1.0 / 6},
               {1.0 / 24, -1.0 / 12, 1.0 / 6},
               {0, 0, 1}},
    .output = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};

/* Roundings of a term in the three two-dimensional transforms. */
#define ROUNDINGS2 10
#define ROUNDINGS4 20
/* Maximum loss by flushing in elements below λ, as counted in docs/numerics.md. */
#define LOST_INPUT  33
#define LOST_FILTER 8
#define LOST_OUTPUT 60

double tn_winograd_roundings(int64_t tile)
{
    return tile == 2 ? ROUNDINGS2 : ROUNDINGS4;
}

/* Values with their magnitudes, i.e. the values if all terms were positive. */
typedef struct tile_values {
    double value[MOST_POINTS], magnitude[MOST_POINTS];
} tile_values;

/* Computes to = matrix · from · matrix', where the rows of `from` have `columns` elements. Like
 * the device it skips terms with zero coefficients, which could be NaN. */
static void transform(const double matrix[MOST_SIDE][MOST_SIDE], int rows, int columns,
                      const tile_values *from, tile_values *to)
{
    memset(to, 0, sizeof *to);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            for (int r = 0; r < columns; r++)
                for (int s = 0; s < columns; s++) {
                    double factor = matrix[i][r] * matrix[j][s];
                    if (factor == 0)
                        continue;
                    to->value[i * rows + j] += factor * from->value[r * columns + s];
                    to->magnitude[i * rows + j] += fabs(factor) * from->magnitude[r * columns + s];
                }
}

/* Loads the tile that begins at output (p, q), in one channel of an image. */
static void take_input(const conv_problem *p, const double *channel, int64_t row, int64_t column,
                       int sides, tile_values *values)
{
    const conv_window *v = &p->window;
    for (int i = 0; i < sides; i++)
        for (int j = 0; j < sides; j++) {
            int64_t h = row + v->start[1] + i, w = column + v->start[2] + j;
            bool within = h >= 0 && h < v->size[1] && w >= 0 && w < v->size[2];
            double x = within ? channel[h * v->size[2] + w] : 0;
            values->value[i * sides + j] = x;
            values->magnitude[i * sides + j] = fabs(x);
        }
}

/* Transforms all filters of a problem. */
static void transform_filters(const conv_problem *p, const transforms *t, int sides,
                              const double *w, tile_values *filters)
{
    tile_values taps;
    for (int64_t f = 0; f < p->groups * p->k * p->c; f++) {
        for (int i = 0; i < 9; i++) {
            taps.value[i] = w[f * 9 + i];
            taps.magnitude[i] = fabs(taps.value[i]);
        }
        transform(t->filter, sides, 3, &taps, &filters[f]);
    }
}

/* Returns a filter's outputs in a tile. `flushed` is λ / u, which a rounding turns into λ. */
static tile_values tile_outputs(const transforms *t, int tile, int64_t channels,
                                const tile_values *inputs, const tile_values *filters,
                                double flushed)
{
    const int count = (tile + 2) * (tile + 2);
    tile_values products, outputs;
    memset(&products, 0, sizeof products);
    for (int64_t c = 0; c < channels; c++)
        for (int e = 0; e < count; e++) {
            double a = inputs[c].magnitude[e], b = filters[c].magnitude[e];
            products.value[e] += inputs[c].value[e] * filters[c].value[e];
            products.magnitude[e] += a * b + flushed * (LOST_FILTER * a + LOST_INPUT * b + 2);
        }
    memset(&outputs, 0, sizeof outputs);
    transform(t->output, tile, tile + 2, &products, &outputs);
    return outputs;
}

static void store(const conv_problem *p, const tile_values *outputs, int tile, int64_t row,
                  int64_t column, double flushed, tn_bounded *plane)
{
    const int64_t *out = p->window.out;
    for (int i = 0; i < tile && row + i < out[1]; i++)
        for (int j = 0; j < tile && column + j < out[2]; j++)
            plane[(row + i) * out[2] + column + j] =
                (tn_bounded){outputs->value[i * tile + j],
                             outputs->magnitude[i * tile + j] + LOST_OUTPUT * flushed};
}

/* Sums one tile of an image for all filters of all groups. */
static void sum_tile(const conv_problem *p, const transforms *t, int tile, const double *image,
                     const tile_values *filters, tile_values *inputs, int64_t row, int64_t column,
                     tn_bounded *sums)
{
    const int64_t *size = p->window.size, *out = p->window.out;
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    const double flushed = tn_least_normal(dtype) / tn_roundoff(dtype);
    tile_values taken;
    for (int64_t g = 0; g < p->groups; g++) {
        for (int64_t c = 0; c < p->c; c++) {
            take_input(p, image + (g * p->c + c) * size[1] * size[2], row, column, tile + 2,
                       &taken);
            transform(t->input, tile + 2, tile + 2, &taken, &inputs[c]);
        }
        for (int64_t k = g * p->k; k < (g + 1) * p->k; k++) {
            const tile_values outputs =
                tile_outputs(t, tile, p->c, inputs, filters + k * p->c, flushed);
            store(p, &outputs, tile, row, column, flushed, sums + k * out[1] * out[2]);
        }
    }
}

bool tn_winograd_sums(const conv_problem *p, int64_t tile, const double *x, const double *w,
                      tn_bounded *sums)
{
    const transforms *t = tile == 2 ? &transforms2 : &transforms4;
    const int64_t *size = p->window.size, *out = p->window.out;
    tile_values *filters = tn_array(p->groups * p->k * p->c, sizeof *filters);
    tile_values *inputs = tn_array(p->c, sizeof *inputs);
    bool whole = filters != NULL && inputs != NULL;
    if (whole)
        transform_filters(p, t, (int)tile + 2, w, filters);
    for (int64_t n = 0; n < p->n && whole; n++)
        for (int64_t row = 0; row < out[1]; row += tile)
            for (int64_t column = 0; column < out[2]; column += tile)
                sum_tile(p, t, (int)tile, x + n * p->groups * p->c * size[1] * size[2], filters,
                         inputs, row, column, sums + n * p->groups * p->k * out[1] * out[2]);
    free(filters);
    free(inputs);
    return whole;
}
