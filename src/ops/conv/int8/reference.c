/* Reference of i8 and u8 convolutions: images are unfolded in host memory, by the definition, and
 * the reference of products computes the rest. Also their awkward cases. */
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/conv/depthwise/depthwise.h"
#include "ops/conv/int8/int8.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Unfolded images, filters and results of a group: a[n, o, p, q, taps], b[taps, k]. */
typedef struct unfolded {
    const conv_problem *p;
    double *x, *w;
    double padding; /* the zero point of x */
    uint8_t *a, *b;
    tn_bounded *results;
    int64_t taps, pixels;
} unfolded;

static uint8_t byte_of(double value)
{
    return (uint8_t)((int)value & 255);
}

/* Returns the element of an image under a tap of a pixel; `at` is {c, t, r, s}, out {o, p, q}. */
static double under(const unfolded *u, int64_t image, const int64_t at[4], const int64_t out[3])
{
    const conv_window *v = &u->p->window;
    int64_t number = image * u->p->groups * u->p->c + at[0];
    for (int d = 0; d < 3; d++) {
        const int64_t place = out[d] * v->stride[d] + v->start[d] + at[1 + d] * v->dilation[d];
        if (place < 0 || place >= v->size[d])
            return u->padding;
        number = number * v->size[d] + place;
    }
    return u->x[number];
}

static void unfold_group(const unfolded *u, int64_t group)
{
    const conv_problem *p = u->p;
    const int64_t *filter = p->window.filter, *out_sizes = p->window.out;
    const int64_t shape[] = {p->n, out_sizes[0], out_sizes[1], out_sizes[2],
                             p->c, filter[0],    filter[1],    filter[2]};
    int64_t i[8] = {0};
    for (int64_t number = 0; number < p->n * u->pixels * u->taps; number++) {
        const int64_t tap[] = {group * p->c + i[4], i[5], i[6], i[7]};
        u->a[number] = byte_of(under(u, i[0], tap, i + 1));
        tn_next_index(i, shape, 8);
    }
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t tap = 0; tap < u->taps; tap++)
            u->b[tap * p->k + k] = byte_of(u->w[(group * p->k + k) * u->taps + tap]);
}

static tenon_tensor host_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape, void *memory)
{
    tenon_tensor view = tenon_tensor_view(dtype, rank, shape);
    view.memory.kind = TENON_MEMORY_SVM;
    view.memory.u.svm = memory;
    return view;
}

/* Returns the part of a view with one element for each filter that belongs to a group. */
static tenon_tensor group_part(const tenon_tensor *view, int64_t group, int64_t filters)
{
    return view->rank == 1 && view->shape[0] != 1
               ? tenon_tensor_slice(*view, 0, group * filters, filters)
               : *view;
}

/* Computes the results of a group in the order n, o, p, q, k. */
static bool group_results(const unfolded *u, const tenon_conv_params *given,
                          const tenon_tensor *const *v, int64_t group)
{
    const conv_problem *p = u->p;
    const int64_t *out = p->window.out;
    const int64_t a_shape[] = {p->n, out[0], out[1], out[2], u->taps};
    const int64_t b_shape[] = {u->taps, p->k}, d_shape[] = {p->n, out[0], out[1], out[2], p->k};
    tenon_tensor a = host_view(v[CONV_X]->dtype, 5, a_shape, u->a),
                 b = host_view(v[CONV_W]->dtype, 2, b_shape, u->b),
                 d = tenon_tensor_view(v[CONV_Y]->dtype, 5, d_shape), c, parts[INT8_OPERANDS];
    const tenon_tensor *views[INT8_OPERANDS] = {[GEMM_A] = &a, [GEMM_B] = &b, [GEMM_D] = &d};
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue = given->epilogue;
    if ((p->flags & CONV_HAS_C) != 0) {
        const int64_t stride[] = {p->res[0], p->res[2], p->res[3], p->res[4], p->res[1]};
        c = tenon_tensor_view(v[CONV_C]->dtype, 5, d_shape);
        memcpy(c.stride, stride, sizeof stride);
        c.memory = v[CONV_C]->memory;
        c.offset = v[CONV_C]->offset +
                   (uint64_t)(group * p->k * p->res[1]) * tenon_dtype_size(v[CONV_C]->dtype);
        views[GEMM_C] = &c;
    }
    for (int i = CONV_BIAS; i < (int)INT8_OPERANDS; i++)
        if (i != CONV_Y && v[i] != NULL) {
            parts[i] = group_part(v[i], group, p->k);
            views[i] = &parts[i];
        }
    return tn_gemm_int8_reference(&params, views, u->results);
}

static void scatter_results(const unfolded *u, int64_t group, tn_bounded *expected)
{
    const conv_problem *p = u->p;
    for (int64_t n = 0; n < p->n; n++)
        for (int64_t k = 0; k < p->k; k++)
            for (int64_t pixel = 0; pixel < u->pixels; pixel++)
                expected[(n * p->groups * p->k + group * p->k + k) * u->pixels + pixel] =
                    u->results[(n * u->pixels + pixel) * p->k + k];
}

static bool make_room(const tenon_conv_params *params, const tenon_tensor *const *v, unfolded *u)
{
    const conv_problem *p = u->p;
    const tenon_tensor *x = v[CONV_X], *w = v[CONV_W], *zero = v[INT8_VECTOR(INT8_ZERO_A)];
    const bool multiplies = params->epilogue.alpha != 0;
    const int64_t rows = p->n * u->pixels;
    if (zero != NULL && multiplies) {
        const int64_t one = 1;
        double *value = tn_host_read(zero, 1, &one);
        if (value == NULL)
            return false;
        u->padding = *value;
        free(value);
    }
    u->x = multiplies ? tn_host_read(x, x->rank, x->shape) : NULL;
    u->w = multiplies ? tn_host_read(w, w->rank, w->shape) : NULL;
    u->a = calloc((size_t)(rows * u->taps) + 1, 1);
    u->b = calloc((size_t)(u->taps * p->k) + 1, 1);
    u->results = malloc(((size_t)(rows * p->k) + 1) * sizeof *u->results);
    return (!multiplies || (u->x != NULL && u->w != NULL)) && u->a != NULL && u->b != NULL &&
           u->results != NULL;
}

bool tn_conv_int8_reference(const void *given, const tenon_tensor *const *v, tn_bounded *expected)
{
    const tenon_conv_params *params = given;
    conv_problem p;
    if (tn_conv_canonicalize("reference", params, v[CONV_X], v[CONV_W], v[CONV_C], v[CONV_BIAS],
                             v[CONV_Y], &p) != TENON_OK)
        return false;
    unfolded u = {
        .p = &p, .taps = p.c * tn_window_taps(&p.window), .pixels = tn_window_pixels(&p.window)};
    bool whole = make_room(params, v, &u);
    for (int64_t g = 0; g < p.groups && whole; g++) {
        if (u.x != NULL && u.w != NULL)
            unfold_group(&u, g);
        whole = group_results(&u, params, v, g);
        if (whole)
            scatter_results(&u, g, expected);
    }
    free(u.x);
    free(u.w);
    free(u.a);
    free(u.b);
    free(u.results);
    return whole;
}

/* Returns a view of images or filters, with a gap between the elements of the last dimension. */
static tenon_tensor awkward_image(uint32_t dtype, bool last, int64_t n, int64_t c,
                                  const int64_t size[3])
{
    tenon_tensor view = {.offset = 3 * (uint64_t)tenon_dtype_size((tenon_dtype)dtype),
                         .dtype = (tenon_dtype)dtype,
                         .rank = CONV_RANK,
                         .shape = {n, c, size[0], size[1], size[2]}};
    view.stride[4] = last ? c : 1;
    view.stride[3] = size[2] * view.stride[4];
    view.stride[2] = size[1] * view.stride[3];
    view.stride[1] = last ? 1 : size[0] * view.stride[2];
    view.stride[0] = c * size[0] * size[1] * size[2] + 5;
    return view;
}

static bool is_last(const int64_t stride[CONV_RANK])
{
    return stride[1] == 1 && stride[4] != 1;
}

static void awkward_epilogue(const conv_int8_problem *like, tenon_epilogue *epilogue)
{
    const bool whole = like->types[CONV_Y] == TENON_DTYPE_I32;
    *epilogue = tn_check_epilogue(like->conv.flags, like->conv.activation);
    if (epilogue->alpha != 0)
        epilogue->alpha = whole ? 1 : ldexp(1, -9); /* sums are about 2^17, scales 2^-4 */
    if (whole && epilogue->beta != 0)
        epilogue->beta = 1;
    if (whole)
        epilogue->activation.alpha = 1000;
}

/* Adds the operands after w, and the vectors, that the given problem has. */
static void awkward_others(const conv_int8_problem *like, int64_t filters, tn_case *c)
{
    static const int of[] = {CONV_X, CONV_W, CONV_Y};
    if ((like->conv.flags & CONV_HAS_C) != 0) {
        c->views[CONV_C] = c->views[CONV_Y];
        c->views[CONV_C].dtype = (tenon_dtype)like->types[CONV_C];
        c->views[CONV_C].offset = 0;
    }
    if ((like->conv.flags & CONV_HAS_BIAS) != 0)
        c->views[CONV_BIAS] = tenon_tensor_view((tenon_dtype)like->types[CONV_BIAS], 1, &filters);
    for (int i = 0; i < INT8_VECTORS; i++) {
        const int64_t count = i % 3 == 0 ? 1 : filters;
        const tenon_dtype type = i < INT8_ZERO_A ? TENON_DTYPE_F32 : c->views[of[i % 3]].dtype;
        if ((like->present >> i & 1U) == 0)
            continue;
        c->views[INT8_VECTOR(i)] = tenon_tensor_view(type, 1, &count);
        c->views[INT8_VECTOR(i)].stride[0] = 2;
    }
}

/* Sizes of a case; channels and filters are per group. */
typedef struct sizes {
    int64_t groups, channels, filters, window[3];
    tenon_conv_geometry geometry;
} sizes;

/* Usual sizes: a window of several elements with padding, or one element without. */
static sizes usual_sizes(const conv_problem *like, bool pointwise)
{
    sizes s = {.groups = like->groups > 1 ? 2 : 1,
               .channels = 19,
               .filters = 7,
               .window = {1, 1, 1},
               .geometry = TENON_CONV_GEOMETRY_INIT};
    s.geometry.stride[1] = 2;
    if (pointwise)
        return s;
    s.geometry.dilation[1] = 2;
    for (int d = 0; d < 3; d++) {
        s.window[d] = d == 1 ? 3 : 2;
        s.geometry.pad_begin[d] = 1;
        s.geometry.pad_end[d] = d;
    }
    return s;
}

/* Sizes of groups of one channel. If the rows of the given problem's window are unrolled, these are
 * too. */
static sizes depthwise_sizes(const conv_problem *like, int64_t stride)
{
    const int64_t taps = tn_depthwise_stride(&like->window) != 0 ? like->window.filter[1] : 0;
    const bool last = is_last(like->x) && is_last(like->y);
    sizes s = {.groups = last ? 71 : 3,
               .channels = 1,
               .filters = like->k > 1 ? 2 : 1,
               .window = {1, taps != 0 ? taps : 2, taps != 0 ? taps : 4},
               .geometry = TENON_CONV_GEOMETRY_INIT};
    for (int d = 1; d < 3; d++) {
        s.geometry.stride[d] = taps != 0 ? like->window.stride[d] : stride;
        s.geometry.dilation[d] = taps != 0 ? 1 : d;
        s.geometry.pad_begin[d] = 2;
        s.geometry.pad_end[d] = d - 1;
    }
    return s;
}

/* Two cases with the usual sizes, or those that the solver lists. */
bool tn_conv_int8_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    static const int64_t image[] = {3, 6, 35};
    const conv_int8_problem *like = (const conv_int8_problem *)problem;
    const conv_problem *p = &like->conv;
    tenon_conv_params *params = (tenon_conv_params *)c->params.bytes;
    const bool lists = choice->solver->awkward != NULL;
    int64_t out[3];
    if (number >= (lists ? tn_awkward_count(choice) : 2))
        return false;
    const int64_t stride = tn_awkward_size(choice, number, "depthwise", 0);
    sizes s = stride > 0 ? depthwise_sizes(p, stride)
                         : usual_sizes(p, tn_awkward_size(choice, number, "pointwise",
                                                          !lists && number != 0) != 0);
    if (lists && stride == 0) {
        s.channels = tn_awkward_size(choice, number, "channels", s.channels);
        s.filters = tn_awkward_size(choice, number, "filters", s.filters);
    }
    tn_awkward_begin(c, &tn_operation_conv_int8);
    c->same_options = stride > 0;
    params->groups = s.groups;
    params->geometry = s.geometry;
    for (uint32_t d = 0; d < 3; d++)
        out[d] = tenon_conv_output_size(&s.geometry, d, image[d], s.window[d]);
    awkward_epilogue(like, &params->epilogue);
    c->views[CONV_X] =
        awkward_image(like->types[CONV_X], is_last(p->x), 2, s.groups * s.channels, image);
    c->views[CONV_W] = awkward_image(like->types[CONV_W], is_last(p->w), s.groups * s.filters,
                                     s.channels, s.window);
    c->views[CONV_Y] =
        awkward_image(like->types[CONV_Y], is_last(p->y), 2, s.groups * s.filters, out);
    awkward_others(like, s.groups * s.filters, c);
    return true;
}
