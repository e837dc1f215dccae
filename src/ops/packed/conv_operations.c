/* The convolution with packed filters as a regular operation, for generic callers (tests,
 * self-check, tools). Its filters are not an operand: they are a fixed pattern, packed at each
 * call. */
#include "base/checked.h"
#include "check/awkward.h"
#include "ops/packed/pattern.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

/* The terms after the activation are operands after these. */
enum { X_X, X_C, X_BIAS, X_Y, X_OPERANDS, X_VIEWS = X_OPERANDS + POST_TERMS };

static const pattern_conv packed_defaults = {.conv = {.struct_size = sizeof(pattern_conv),
                                                      .groups = 1,
                                                      .geometry = TENON_CONV_GEOMETRY_INIT,
                                                      .epilogue = TENON_EPILOGUE_INIT},
                                             .filter = {1, 1, 1}};

static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, pattern_conv, conv.flags),
                                  TN_FIELD("groups", TN_FIELD_I64, pattern_conv, conv.groups),
                                  TN_GEOMETRY_FIELDS(pattern_conv, conv.geometry),
                                  TN_EPILOGUE_FIELDS(pattern_conv, conv.epilogue),
                                  TN_FIELD("filters", TN_FIELD_I64, pattern_conv, filters),
                                  TN_FIELD("channels", TN_FIELD_I64, pattern_conv, channels),
                                  TN_FIELD_ARRAY("filter", TN_FIELD_I64, pattern_conv, filter)};

/* Parameters of a convolution, as in ops/packed/operations.c. */
typedef struct call_params {
    tenon_conv_params conv;
    uint64_t beyond; /* bytes of the caller's struct after the known parameters */
} call_params;

static call_params inner_params(const pattern_conv *p)
{
    call_params params = {.conv = p->conv};
    params.conv.struct_size -= (uint32_t)(sizeof *p - sizeof params.conv);
    if (p->conv.struct_size > sizeof *p)
        memcpy(&params.beyond, p + 1, sizeof params.beyond);
    return params;
}

/* Returns a dense view of the filters of an image x, without memory. It is invalid if their size
 * overflows. */
static tenon_tensor filters_of(const pattern_conv *p, const tenon_tensor *x)
{
    int64_t shape[CONV_RANK] = {p->filters, p->channels};
    const uint32_t rank = x != NULL && x->rank > 2 && x->rank <= CONV_RANK ? x->rank : 4;
    memcpy(shape + 2, p->filter, sizeof p->filter);
    return tenon_tensor_view(tn_pattern_type(x), rank, shape);
}

static tenon_status no_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the filters", caller);
}

/* Returns the index in the panels of element `number`, in row-major order, of dense filters. */
static int64_t position(const tenon_tensor *filters, int64_t panel, int64_t number)
{
    const int64_t k = filters->shape[0], c = filters->shape[1],
                  taps = k * c == 0 ? 1 : tn_max_i64(tenon_tensor_elements(filters) / k / c, 1);
    const int64_t tap = number % taps, channel = number / taps % c, filter = number / taps / c;
    return filter / panel * taps * c * panel + (tap * c + channel) * panel + filter % panel;
}

/* Packs the filters on the host. The self-check must not depend on the copies that
 * tenon_conv_pack_filter makes. */
static tenon_status upload_dense(const char *caller, tenon_stream *stream,
                                 const tenon_tensor *filters, const tenon_packed *packed)
{
    const size_t bytes = (size_t)tenon_packed_bytes(packed),
                 size = tenon_dtype_size(filters->dtype);
    const int64_t count = tenon_tensor_elements(filters);
    unsigned char *memory = calloc(bytes + 1, 1);
    const unsigned char *dense = filters->memory.u.svm;
    if (memory == NULL)
        return no_memory(caller);
    for (int64_t i = 0; i < count; i++)
        memcpy(memory + (size_t)position(filters, packed->panel, i) * size,
               dense + (size_t)i * size, size);
    memcpy(memory + (size_t)packed->dense_at * size, dense, (size_t)count * size);
    const tenon_status status = tenon_tensor_upload(stream, memory, bytes, &packed->memory, NULL);
    free(memory);
    return status;
}

static tenon_status upload_pattern(const char *caller, tenon_stream *stream, tenon_tensor *filters,
                                   const tenon_packed *packed)
{
    void *data = tn_pattern_weights(filters);
    const tenon_status status =
        data != NULL ? upload_dense(caller, stream, filters, packed) : no_memory(caller);
    free(data);
    return status;
}

/* Packs the pattern. Without a stream, the memory remains uninitialized. */
static tenon_status pack_filters(const char *caller, tenon_context *context, tenon_stream *stream,
                                 const pattern_conv *p, const tenon_tensor *x,
                                 tenon_packed **packed)
{
    tenon_tensor filters = filters_of(p, x);
    if (filters.dtype == TENON_DTYPE_INVALID)
        return no_memory(caller);
    TN_TRY(tn_packed_create(caller, context, PACKED_FILTER, "filter_panels", &filters, packed));
    return stream != NULL ? upload_pattern(caller, stream, &filters, *packed) : TENON_OK;
}

static bool has_transformed(const tenon_packed *packed)
{
    return packed != NULL && packed->transformed.panel > 0;
}

static tenon_status run_packed(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    const char *caller = tn_operation_conv_packed.name;
    tenon_packed *packed = NULL;
    TN_TRY(tn_stream_check(caller, stream));
    const call_params inner = inner_params(params);
    filter_params own;
    tenon_status status = pack_filters(caller, stream->context, stream, params, v[X_X], &packed);
    if (status == TENON_OK && has_transformed(packed))
        status = tn_filters_transform(caller, stream, packed, NULL);
    if (status == TENON_OK)
        status = tn_filters_take_params(caller, &inner.conv, packed, &own);
    if (status == TENON_OK) {
        const tenon_tensor *const views[] = {v[X_X], &packed->memory, v[X_C], v[X_BIAS], v[X_Y]};
        status = tn_operation_run_as(caller, &tn_conv_by_filters, stream, &own, views, sync);
    }
    tenon_packed_release(packed);
    return status;
}

/* Transforms the filters if the plan may use them. The self-check of a solver that does not use
 * them must not depend on the transformation. */
static tenon_status finish_packing(const char *caller, tenon_stream *stream,
                                   const tenon_packed *packed, const tenon_plan *plan)
{
    const bool is_check = stream->context->owner != NULL;
    const tn_solver *checked =
        is_check ? tn_solver_named(&tn_conv_packed_family, plan->name) : NULL;
    if (has_transformed(packed) && (!is_check || checked == &tn_conv_packed_winograd4))
        TN_TRY(tn_filters_transform(caller, stream, packed, NULL));
    return tenon_stream_finish(stream);
}

static tenon_status make_plan(const char *caller, tenon_context *context, tenon_stream *stream,
                              const pattern_conv *params, const tenon_tensor *const *v,
                              tenon_plan **plan)
{
    tenon_packed *packed = NULL;
    const call_params inner = inner_params(params);
    filter_params own;
    tenon_status status = pack_filters(caller, context, stream, params, v[X_X], &packed);
    if (status == TENON_OK)
        status = tn_filters_take_params(caller, &inner.conv, packed, &own);
    if (status == TENON_OK) {
        const tenon_tensor *const views[] = {v[X_X], &packed->memory, v[X_C], v[X_BIAS], v[X_Y]};
        status = tn_operation_plan_as(caller, &tn_conv_by_filters, context, &own, views, plan);
    }
    if (status == TENON_OK) {
        tn_packed_keep(*plan, CONV_W, packed);
        if (stream != NULL)
            status = finish_packing(caller, stream, packed, *plan);
        if (status != TENON_OK) {
            tenon_plan_release(*plan);
            *plan = NULL;
        }
    }
    tenon_packed_release(packed);
    return status;
}

/* In a context without a device the plan has no memory for the filters. */
static tenon_status plan_packed(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    const char *caller = tn_conv_by_filters.plan_name;
    tenon_stream *stream = NULL;
    TN_TRY(tn_plan_check(caller, context, plan));
    if (context->cl != NULL)
        TN_TRY(tenon_stream_create(context, NULL, &stream));
    const tenon_status status = make_plan(caller, context, stream, params, v, plan);
    tenon_stream_destroy(stream);
    return status;
}

DEFINE_PATTERN_POST(conv)

/* The dense filters may be multiplied by conv/winograd4, whose bound is the largest of all solvers
 * and is also that of conv_packed/winograd4. */
static bool packed_reference(const void *given, const tenon_tensor *const *v, tn_bounded *expected)
{
    const pattern_conv *params = given;
    const char *solver = params->conv.solver;
    const tn_solver *named = tn_solver_named(&tn_conv_packed_family, solver);
    if (named == NULL)
        named = tn_solver_named(&tn_conv_packed_post_family, solver);
    const bool transforms = named == &tn_conv_packed_dense || named == &tn_conv_packed_two_steps ||
                            named == &tn_conv_packed_winograd4;
    tenon_conv_params conv = params->conv;
    tenon_tensor w = filters_of(params, v[X_X]);
    void *data = tn_pattern_weights(&w);
    const tenon_tensor *const views[] = {v[X_X], &w, v[X_C], v[X_BIAS], v[X_Y]};
    conv.solver = transforms && (conv.flags & TENON_CONV_EXACT) == 0 ? "conv/winograd4" : NULL;
    const bool made = data != NULL && tn_conv_reference(&conv, views, expected);
    free(data);
    return made;
}

static bool post_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return packed_reference(params, v, expected) &&
           tn_conv_apply_post(v[X_Y], v + X_OPERANDS, expected);
}

/* Sizes of a case; channels and filters are per group. */
typedef struct sizes {
    int64_t groups, channels, filters;
    int64_t gap;   /* elements between pixels, and between rows */
    int64_t first; /* 1: images have their channels before their pixels */
    int64_t image[3], filter[3];
    tenon_conv_geometry geometry;
} sizes;

static const sizes usual_sizes = {
    .groups = 1,
    .channels = 19,
    .filters = 37,
    .image = {1, 6, 11},
    .filter = {1, 2, 3},
    .geometry = {
        .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .pad_begin = {0, 1, 2}, .pad_end = {0, 2, 1}}};

static const struct {
    const char *name;
    size_t at;
} names[] = {{"groups", offsetof(sizes, groups)},
             {"channels", offsetof(sizes, channels)},
             {"filters", offsetof(sizes, filters)},
             {"gap", offsetof(sizes, gap)},
             {"first", offsetof(sizes, first)},
             {"d", offsetof(sizes, image[0])},
             {"h", offsetof(sizes, image[1])},
             {"w", offsetof(sizes, image[2])},
             {"t", offsetof(sizes, filter[0])},
             {"r", offsetof(sizes, filter[1])},
             {"s", offsetof(sizes, filter[2])},
             {"stride_h", offsetof(sizes, geometry.stride[1])},
             {"stride_w", offsetof(sizes, geometry.stride[2])},
             {"dilation_h", offsetof(sizes, geometry.dilation[1])},
             {"dilation_w", offsetof(sizes, geometry.dilation[2])}};

/* Sets groups of one channel, more than a panel and less than two, and a window that use the same
 * kernel variant as the given problem: whole vectors if it reads its rows in place. */
static void make_depthwise(const filter_problem *like, bool in_place, sizes *s)
{
    const conv_window *v = &like->conv.window;
    s->groups = like->panel + like->panel / PACKED_PANEL_VECTORS;
    s->groups += in_place ? 0 : 3;
    s->channels = 1;
    s->filters = like->conv.k;
    s->filter[2] = tn_min_i64(v->filter[2], 9);
    s->geometry.stride[2] = tn_min_i64(v->stride[2], 3);
    s->geometry.dilation[2] = tn_min_i64(v->dilation[2], 2);
}

/* Sets the channels and the stride, which select the kernel variant of conv_packed/direct, and
 * segments of a row, which depend on its length. */
static void make_direct(const filter_problem *like, sizes *s)
{
    s->channels = like->conv.c;
    s->geometry.stride[2] = like->conv.window.stride[2];
    s->image[2] *= s->geometry.stride[2];
}

static sizes take_sizes(const filter_problem *like, const tn_choice *choice, uint32_t number)
{
    sizes s = usual_sizes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t *size = (int64_t *)((char *)&s + names[i].at);
        *size = tn_awkward_size(choice, number, names[i].name, *size);
    }
    if (tn_awkward_size(choice, number, "depthwise", 0) != 0)
        make_depthwise(like, tn_packed_depthwise_in_place(choice), &s);
    if (tn_awkward_size(choice, number, "direct", 0) != 0)
        make_direct(like, &s);
    s.geometry.pad_begin[0] = s.image[0] > 1;
    s.image[2] = tn_max_i64(s.image[2], (s.filter[2] - 1) * s.geometry.dilation[2]);
    return s;
}

/* Returns images with their channels last or, if the case says so, first. */
static tenon_tensor images(uint32_t dtype, int64_t n, int64_t c, const int64_t size[3],
                           const sizes *s)
{
    const int64_t gap = s->gap;
    tenon_tensor view = {.offset = 3 * (uint64_t)tenon_dtype_size((tenon_dtype)dtype),
                         .dtype = (tenon_dtype)dtype,
                         .rank = CONV_RANK,
                         .shape = {n, c, size[0], size[1], size[2]}};
    view.stride[1] = 1;
    view.stride[4] = s->first != 0 ? 1 : c + gap;
    view.stride[3] = size[2] * view.stride[4] + gap;
    view.stride[2] = size[1] * view.stride[3];
    view.stride[0] = size[0] * view.stride[2] + gap;
    if (s->first != 0) {
        view.stride[1] = view.stride[0];
        view.stride[0] = c * view.stride[1] + gap;
    }
    return view;
}

/* Removes the first spatial dimension, in which images and filters have one element: filters that
 * are transformed have two. */
static void make_flat(tn_case *c)
{
    static const tenon_conv_geometry usual = TENON_CONV_GEOMETRY_INIT;
    pattern_conv *params = (pattern_conv *)c->params.bytes;
    tenon_conv_geometry *g = &params->conv.geometry;
    for (uint32_t d = 0; d < TENON_MAX_SPATIAL; d++) {
        const uint32_t next = d + 1;
        const bool is_last = next == TENON_MAX_SPATIAL;
        params->filter[d] = is_last ? 1 : params->filter[next];
        g->stride[d] = is_last ? usual.stride[d] : g->stride[next];
        g->dilation[d] = is_last ? usual.dilation[d] : g->dilation[next];
        g->pad_begin[d] = is_last ? usual.pad_begin[d] : g->pad_begin[next];
        g->pad_end[d] = is_last ? usual.pad_end[d] : g->pad_end[next];
    }
    for (uint32_t i = 0; i < X_VIEWS; i++) {
        tenon_tensor *view = &c->views[i];
        if (view->rank != CONV_RANK)
            continue;
        view->rank = CONV_RANK - 1;
        memmove(view->shape + 2, view->shape + 3, 2 * sizeof *view->shape);
        memmove(view->stride + 2, view->stride + 3, 2 * sizeof *view->stride);
    }
}

bool tn_conv_packed_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    static const int64_t batch = 2;
    const filter_problem *like = (const filter_problem *)problem;
    const uint32_t dtype = like->conv.dtype;
    pattern_conv *params = (pattern_conv *)c->params.bytes;
    int64_t out[3];
    if (number == tn_awkward_count(choice))
        return false;
    const sizes s = take_sizes(like, choice, number);
    const int64_t filters = s.groups * s.filters;
    tn_awkward_begin(c, (like->conv.flags & TENON_POST_ANY) != 0 ? &tn_operation_conv_packed_post
                                                                 : &tn_operation_conv_packed);
    params->conv.groups = s.groups;
    params->conv.geometry = s.geometry;
    params->conv.epilogue = tn_check_epilogue(like->conv.flags, like->conv.activation);
    params->filters = filters;
    params->channels = s.channels;
    memcpy(params->filter, s.filter, sizeof s.filter);
    for (uint32_t d = 0; d < 3; d++)
        out[d] = tenon_conv_output_size(&s.geometry, d, s.image[d], s.filter[d]);
    c->views[X_X] = images(dtype, batch, s.groups * s.channels, s.image, &s);
    c->views[X_Y] = images(dtype, batch, filters, out, &s);
    if ((like->conv.flags & CONV_HAS_C) != 0)
        c->views[X_C] = c->views[X_Y];
    if ((like->conv.flags & CONV_HAS_BIAS) != 0)
        c->views[X_BIAS] = tenon_tensor_view((tenon_dtype)dtype, 1, &filters);
    for (int term = POST_SCALE; term <= POST_SHIFT; term++)
        if ((like->conv.flags & TENON_POST_SCALE << term) != 0)
            c->views[X_OPERANDS + term] = tenon_tensor_view((tenon_dtype)dtype, 1, &filters);
    if ((like->conv.flags & TENON_POST_RESIDUAL) != 0)
        c->views[X_OPERANDS + POST_RESIDUAL] = c->views[X_Y];
    if (tn_post_tries_in_place(choice, like->conv.flags))
        c->same[X_OPERANDS + POST_RESIDUAL] = X_Y + 1;
    if (s.image[0] == 1 && s.filter[0] == 1)
        make_flat(c);
    return true;
}

static const char *const examples[] = {
    "conv_packed x=T:2x3x5x6/90,1,18,3 c=T:2x9x4x4/144,1,36,9 bias=T:9 y=T:2x9x4x4/144,1,36,9 "
    "beta=1 filters=9 channels=3 filter=2,3",
    "conv_packed x=T:1x64x14x13/11648,1,832,64 bias=T:70 y=T:1x70x14x13/12740,1,910,70 "
    "pad_begin=1,1 pad_end=1,1 activation=relu filters=70 channels=64 filter=3,3",
    "conv_packed x=T:2x35x9x17/5355,1,595,35 bias=T:35 y=T:2x35x9x17/5355,1,595,35 groups=35 "
    "pad_begin=1,1 pad_end=1,1 activation=clipped_relu activation.alpha=6 filters=35 channels=1 "
    "filter=3,3",
    "conv_packed x=T:2x5x70/350,1,5 c=@y y=T:2x12x34/408,1,12 stride=2 pad_end=1 beta=0.5 "
    "filters=12 channels=5 filter=4",
    "conv_packed x=T:2x3x15x16 y=T:2x9x14x14 filters=9 channels=3 filter=2,3",
    "conv_packed x=T:0x3x5x6 y=T:0x9x4x4 filters=9 channels=3 filter=2,3",
    NULL,
};

static const char *const post_examples[] = {
    "conv_packed_post x=T:2x3x5x6/90,1,18,3 c=T:2x9x4x4/144,1,36,9 bias=T:9 y=T:2x9x4x4/144,1,36,9 "
    "post_scale=T:9 post_shift=T:9 residual=T:2x9x4x4/144,1,36,9 beta=1 filters=9 channels=3 "
    "filter=2,3",
    "conv_packed_post x=T:1x64x14x13/11648,1,832,64 bias=T:70 y=T:1x70x14x13/12740,1,910,70 "
    "post_scale=T:70 pad_begin=1,1 pad_end=1,1 activation=relu filters=70 channels=64 filter=3,3",
    "conv_packed_post x=T:2x35x9x17/5355,1,595,35 bias=T:35 "
    "y=T:2x35x9x17/5355,1,595,35 residual=@y "
    "groups=35 pad_begin=1,1 pad_end=1,1 activation=clipped_relu activation.alpha=6 filters=35 "
    "channels=1 filter=3,3",
    "conv_packed_post x=T:2x3x15x16 y=T:2x9x14x14 post_shift=T:9 residual=T:2x9x14x14 filters=9 "
    "channels=3 filter=2,3",
    NULL,
};

/* The members that both descriptions share. */
#define PACKED_OPERANDS                                                                            \
    {.name = "x", .image = true}, {.name = "c", .image = true, .optional = true},                  \
        {.name = "bias", .optional = true},                                                        \
    {                                                                                              \
        .name = "y", .image = true, .role = TN_OUTPUT                                              \
    }
#define PACKED_OPERATION                                                                           \
    .name = "tenon_conv_forward_packed", TN_FIELDS(fields), TN_OWN_PARAMS(packed_defaults),        \
    .flags = TENON_CONV_EXACT, .epilogue_at = offsetof(pattern_conv, conv.epilogue)

const tn_operation tn_operation_conv_packed = {
    PACKED_OPERATION,
    .run = run_packed,
    .plan = plan_packed,
    .family = &tn_conv_packed_family,
    .operands = {PACKED_OPERANDS},
    .operand_count = X_OPERANDS,
    .reference = packed_reference,
    .examples = examples,
};

const tn_operation tn_operation_conv_packed_post = {
    PACKED_OPERATION,
    .run = run_post,
    .plan = plan_post,
    .family = &tn_conv_packed_post_family,
    .operands = {PACKED_OPERANDS, POST_OPERANDS},
    .operand_count = X_VIEWS,
    .reference = post_reference,
    .examples = post_examples,
};
