/* The maps from outputs to coordinates, as integers and fractions of 64 bits, computed exactly. */
#include "ops/resize/internal.h"

#include <math.h>

static resize_fixed negative(resize_fixed a)
{
    return (resize_fixed){-a.whole - (a.rest != 0), 0 - a.rest};
}

static resize_fixed sum(resize_fixed a, resize_fixed b)
{
    const uint64_t rest = a.rest + b.rest;
    return (resize_fixed){a.whole + b.whole + (rest < a.rest), rest};
}

/* Coordinates are not distinguished beyond this. */
#define FAR 0x1p31

/* Returns a / b, rounded to a multiple of 2^-64, for a ≥ 0 and b > 0. Divides the mantissas bit by
 * bit: a double has 53 of them. */
static resize_fixed quotient_of_positive(double a, double b)
{
    int exponent_a, exponent_b;
    uint64_t high = 0, low = 0, rest = 0;
    if (a / b >= FAR)
        return (resize_fixed){(int64_t)FAR, 0};
    const uint64_t bits = (uint64_t)ldexp(frexp(a, &exponent_a), 53),
                   divisor = (uint64_t)ldexp(frexp(b, &exponent_b), 53);
    /* The last bit of the dividend that counts for a quotient with 65 bits after the point. */
    const int count = 53 + exponent_a - exponent_b + 65;
    for (int i = 0; i < count; i++) {
        rest = rest << 1 | (i < 53 ? bits >> (52 - i) & 1 : 0);
        const uint64_t bit = rest >= divisor;
        rest -= bit != 0 ? divisor : 0;
        high = high << 1 | low >> 63;
        low = low << 1 | bit;
    }
    /* Of the 65 bits after the point the last one rounds. */
    const uint64_t fraction = (high & 1) << 63 | low >> 1;
    return sum((resize_fixed){(int64_t)(high >> 1), fraction}, (resize_fixed){0, low & 1});
}

static resize_fixed quotient(double a, double b)
{
    return a < 0 ? negative(quotient_of_positive(-a, b)) : quotient_of_positive(a, b);
}

static resize_fixed number(double a)
{
    return quotient(a, 1);
}

/* A dimension of a call: sizes, and the scale as a fraction. The scale is exact if it is the ratio
 * of the sizes. */
typedef struct axis {
    double in, out;
    double scale, divisor; /* s = scale / divisor */
    double length;         /* L */
    double begin, end;     /* of the region */
} axis;

static void set_crop(const axis *a, resize_map *map)
{
    const double last = a->in - 1;
    if (a->length == 1) {
        map->start = number((a->begin + a->end) * last / 2);
        return;
    }
    const double range = (a->end - a->begin) * last, steps = a->length - 1;
    map->step = steps > 0 ? quotient(range, steps) : quotient(-range, -steps);
    map->start = number(a->begin * last);
}

/* Sets the step and the start of a map whose members are 0. */
static void set_coordinates(uint32_t coordinates, const axis *a, resize_map *map)
{
    const resize_fixed inverse = quotient(a->divisor, a->scale),
                       minus_half = {-1, UINT64_C(1) << 63},
                       centered = sum(quotient(a->divisor, 2 * a->scale), minus_half);
    switch ((tenon_resize_coordinates)coordinates) {
    case TENON_RESIZE_HALF_PIXEL_SYMMETRIC:
        /* (1 - Y / L) X / 2 + 1 / (2 s) - 1 / 2 = (X - 1) / 2 - (Y - 1) / (2 s) */
        map->step = inverse;
        map->start = sum(number((a->in - 1) / 2),
                         negative(quotient((a->out - 1) * a->divisor, 2 * a->scale)));
        break;
    case TENON_RESIZE_PYTORCH_HALF_PIXEL:
        if (a->out == 1)
            break;
        map->step = inverse;
        map->start = centered;
        break;
    case TENON_RESIZE_ALIGN_CORNERS:
        if (a->length != 1)
            map->step = a->length > 1 ? quotient(a->in - 1, a->length - 1)
                                      : negative(quotient(a->in - 1, 1 - a->length));
        break;
    case TENON_RESIZE_ASYMMETRIC:
        map->step = inverse;
        break;
    case TENON_RESIZE_TF_HALF_PIXEL:
        map->step = inverse;
        map->start = quotient(a->divisor, 2 * a->scale);
        break;
    case TENON_RESIZE_TF_CROP_AND_RESIZE:
        set_crop(a, map);
        break;
    default: /* TENON_RESIZE_HALF_PIXEL */
        map->step = inverse;
        map->start = centered;
    }
}

static bool is_identity(const resize_map *map)
{
    return map->step.whole == 1 && map->step.rest == 0 && map->start.whole == 0 &&
           map->start.rest == 0;
}

/* Sets the taps of a filter; those of an identity are the elements themselves. */
static void set_filter(const tenon_resize_params *params, double scale, resize_map *map)
{
    const bool widens = (params->flags & TENON_RESIZE_ANTIALIAS) != 0 && scale < 1;
    const double half = params->mode == TENON_RESIZE_CUBIC ? 2 : 1;
    map->scale = 1;
    map->taps = 1;
    if (params->mode == TENON_RESIZE_NEAREST || (is_identity(map) && !widens))
        return;
    map->scale = widens ? scale : 1;
    map->taps = 2 * (int64_t)ceil(half / map->scale);
    map->before = map->taps / 2 - 1;
    map->is_normalized = widens || (params->flags & TENON_RESIZE_EXCLUDE_OUTSIDE) != 0;
}

void tn_resize_map(const tenon_resize_params *params, uint32_t spatial, resize_problem *p)
{
    for (int i = 0; i < 3; i++) {
        resize_map *map = &p->map[i];
        const int d = i - (3 - (int)spatial);
        if (d < 0) {
            *map = (resize_map){.step = {1, 0}, .scale = 1, .taps = 1};
            continue;
        }
        const bool given = params->scales[d] > 0;
        axis a = {.in = (double)p->in[i],
                  .out = (double)p->out[i],
                  .begin = params->region_begin[d],
                  .end = params->region_end[d]};
        a.scale = given ? params->scales[d] : a.out;
        a.divisor = given ? 1 : a.in;
        a.length = given ? a.scale * a.in : a.out;
        *map = (resize_map){.scale = 1};
        set_coordinates(params->coordinates, &a, map);
        set_filter(params, a.scale / a.divisor, map);
    }
}
