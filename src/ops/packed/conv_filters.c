/* The two ways in which panels serve convolutions of images with their channels last: by the family
 * conv_packed, and, for filters of one element, by gemm_packed, with the pixels as rows. Their
 * canonical problems and the descriptions of their calls, and of calls with the dense filters. */
#include "check/case.h"
#include "ops/packed/pattern.h"
#include "ops/registry.h"

#include <string.h>

static const tn_solver *const solvers[] = {&tn_conv_packed_cpu, &tn_conv_packed_direct,
                                           &tn_conv_packed_depthwise, &tn_conv_packed_winograd4,
                                           &tn_conv_packed_dense};

const tn_family tn_conv_packed_family = {.name = "conv_packed",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_conv_packed_awkward,
                                         .paths = tn_conv_paths};

static const tn_solver *const post_solvers[] = {&tn_conv_packed_cpu, &tn_conv_packed_direct,
                                                &tn_conv_packed_depthwise,
                                                &tn_conv_packed_two_steps, &tn_conv_packed_dense};

const tn_family tn_conv_packed_post_family = {.name = "conv_packed_post",
                                              TN_SOLVERS(post_solvers),
                                              .awkward = tn_conv_packed_awkward,
                                              .paths = tn_conv_paths};

/* Returns true if the channels of an image with these strides are contiguous. */
static bool is_contiguous(const int64_t stride[CONV_RANK], int64_t channels)
{
    return stride[1] == 1 || channels == 1;
}

const char *tn_filters_refuse(tenon_context *context, const filter_problem *problem)
{
    const conv_problem *p = &problem->conv;
    if (problem->panel != tn_packed_panel(context, (tenon_dtype)p->dtype))
        return "the width of the panels is not that of this device";
    if (!is_contiguous(p->x, p->groups * p->c) || !is_contiguous(p->y, p->groups * p->k))
        return "the channels of x or y are not contiguous";
    if (p->c == 0 || tn_window_empty(&p->window) || (p->flags & CONV_SKIP_XW) != 0)
        return "there is nothing to multiply";
    return NULL;
}

tenon_status tn_filters_take_params(const char *caller, const tenon_conv_params *given,
                                    const tenon_packed *packed, filter_params *all)
{
    const void *params;
    TN_TRY(tn_operation_take_params(caller, &tn_operation_conv, given, &all->conv, &params));
    if (params != &all->conv)
        all->conv = *(const tenon_conv_params *)params;
    all->conv.struct_size = sizeof *all;
    all->packed = packed;
    return TENON_OK;
}

/* Checks a call as one of tenon_conv_forward with the packed filters as w, and fills in the
 * convolution's problem. */
static tenon_status prepare_conv(const filter_params *params, tn_call *call, conv_problem *problem,
                                 bool *empty)
{
    tn_call unpacked = *call;
    unpacked.operands[CONV_W].view = &params->packed->view;
    TN_TRY(tn_conv_prepare(&params->conv, &unpacked, &problem->head, empty));
    call->operands[CONV_C].view = unpacked.operands[CONV_C].view;
    call->operands[CONV_POST + POST_RESIDUAL].role =
        unpacked.operands[CONV_POST + POST_RESIDUAL].role;
    memcpy(call->scalars, unpacked.scalars, sizeof call->scalars);
    return TENON_OK;
}

void tn_filters_complete(const tenon_packed *packed, filter_problem *problem)
{
    problem->conv.head.size = sizeof *problem;
    problem->panel = packed->panel;
    problem->dense_at = packed->dense_at;
    problem->transformed = packed->transformed;
    problem->only_transforms = 0;
}

static tenon_status prepare_filters(const void *given, tn_call *call, tn_problem *head, bool *empty)
{
    const filter_params *params = given;
    filter_problem *problem = (filter_problem *)head;
    TN_TRY(prepare_conv(params, call, &problem->conv, empty));
    tn_filters_complete(params->packed, problem);
    return TENON_OK;
}

/* Returns the bit of x if its channels are its last dimension. */
static uint32_t has_channels_last(const void *params, const tn_call *call)
{
    const filter_params *all = params;
    return (uint32_t)tn_conv_channels_last(call->operands[CONV_X].view, &all->packed->view,
                                           all->conv.groups)
           << CONV_X;
}

/* Rank of the views of a product over the pixels: n, o, p, and the matrix of q and channels. */
#define PIXELS_RANK 5

/* Returns a view of images, whose pixels are the rows of a matrix with the given columns. */
static tenon_tensor pixels_of(const conv_problem *p, int64_t columns, const int64_t stride[],
                              const int64_t step[3])
{
    const int64_t *out = p->window.out;
    return (tenon_tensor){.dtype = (tenon_dtype)p->dtype,
                          .rank = PIXELS_RANK,
                          .shape = {p->n, out[0], out[1], out[2], columns},
                          .stride = {stride[0], step[0] * stride[2], step[1] * stride[3],
                                     step[2] * stride[4], stride[1]}};
}

/* Returns a view of one element for each filter. */
static tenon_tensor channels_of(const conv_problem *p, int64_t stride)
{
    return (tenon_tensor){
        .dtype = (tenon_dtype)p->dtype, .rank = 1, .shape = {p->k}, .stride = {stride}};
}

/* Makes the product of the images' pixels and the panels. Its operands have the numbers of the
 * convolution's. */
static tenon_status multiply_pixels(const char *caller, const filter_params *params,
                                    const conv_problem *p, packed_problem *problem, bool *empty)
{
    static const int64_t one[] = {1, 1, 1};
    const tenon_gemm_params gemm = {.struct_size = sizeof gemm, .epilogue = params->conv.epilogue};
    const tenon_tensor x = pixels_of(p, p->c, p->x, p->window.stride);
    const tenon_tensor y = pixels_of(p, p->k, p->y, one), c = pixels_of(p, p->k, p->res, one);
    const tenon_tensor bias = channels_of(p, p->bias), scale = channels_of(p, p->post_scale),
                       shift = channels_of(p, p->post_shift),
                       residual = pixels_of(p, p->k, p->residual, one);
    const tenon_tensor *const views[GEMM_MATRICES] = {
        &x,
        NULL,
        (p->flags & CONV_HAS_C) != 0 ? &c : NULL,
        (p->flags & CONV_HAS_BIAS) != 0 ? &bias : NULL,
        &y,
        (p->flags & TENON_POST_SCALE) != 0 ? &scale : NULL,
        (p->flags & TENON_POST_SHIFT) != 0 ? &shift : NULL,
        (p->flags & TENON_POST_RESIDUAL) != 0 ? &residual : NULL};
    TN_TRY(tn_gemm_packed_canonicalize(caller, &gemm, params->packed, views, problem, empty));
    problem->gemm.flags |= p->flags & TENON_POST_IN_PLACE;
    return TENON_OK;
}

static tenon_status prepare_product(const void *given, tn_call *call, tn_problem *problem,
                                    bool *empty)
{
    conv_problem conv;
    TN_TRY(prepare_conv(given, call, &conv, empty));
    return *empty ? TENON_OK
                  : multiply_pixels(call->caller, given, &conv, (packed_problem *)problem, empty);
}

/* Makes the call of the registered operation of the family that has the same problem. */
static void repeat_filters(const tn_call *call, tn_case *c)
{
    const filter_params *given = call->params;
    const tenon_tensor *w = &given->packed->view;
    const tn_argument *o = call->operands;
    const tn_argument *term = o + CONV_POST;
    const tenon_tensor *const views[] = {
        o[CONV_X].view, o[CONV_C].view,        o[CONV_BIAS].view,       o[CONV_Y].view,
        term->view,     term[POST_SHIFT].view, term[POST_RESIDUAL].view};
    const tn_family *family =
        call->operand_count > CONV_POST ? &tn_conv_packed_post_family : &tn_conv_packed_family;
    pattern_conv params = {
        .conv = given->conv, .filters = w->shape[0], .channels = w->shape[1], .filter = {1, 1, 1}};
    memcpy(params.filter, w->shape + 2, (w->rank - 2) * sizeof *params.filter);
    params.conv.struct_size = sizeof params;
    tn_case_make(tn_operation_of_family(family), &params, views, NULL, 1, c);
}

static void repeat_product(const tn_call *call, tn_case *c)
{
    static const int64_t one[] = {1, 1, 1};
    const filter_params *given = call->params;
    tn_call copy = *call;
    conv_problem p = {.head = {.size = sizeof p, .forced = -1}};
    bool empty;
    repeat_filters(call, c);
    if (prepare_conv(given, &copy, &p, &empty) != TENON_OK || empty)
        return;
    const tenon_tensor x = pixels_of(&p, p.c, p.x, p.window.stride),
                       y = pixels_of(&p, p.k, p.y, one), res = pixels_of(&p, p.k, p.res, one),
                       residual = pixels_of(&p, p.k, p.residual, one);
    const tn_argument *o = call->operands;
    const tenon_tensor *const views[] = {&x,
                                         (p.flags & CONV_HAS_C) != 0 ? &res : NULL,
                                         o[CONV_BIAS].view,
                                         &y,
                                         o[CONV_POST + POST_SCALE].view,
                                         o[CONV_POST + POST_SHIFT].view,
                                         (p.flags & TENON_POST_RESIDUAL) == 0   ? NULL
                                         : (p.flags & TENON_POST_IN_PLACE) != 0 ? &y
                                                                                : &residual};
    const pattern_gemm params = {
        .gemm = {.struct_size = sizeof params, .epilogue = given->conv.epilogue},
        .k = p.c,
        .n = p.k};
    tn_case_make(tn_operation_of_family(call->operation->family), &params, views, NULL, 1, c);
}

static const filter_params filter_defaults = {.conv = {.struct_size = sizeof(filter_params),
                                                       .groups = 1,
                                                       .geometry = TENON_CONV_GEOMETRY_INIT,
                                                       .epilogue = TENON_EPILOGUE_INIT}};
static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, filter_params, conv.flags),
                                  TN_FIELD("groups", TN_FIELD_I64, filter_params, conv.groups),
                                  TN_GEOMETRY_FIELDS(filter_params, conv.geometry),
                                  TN_EPILOGUE_FIELDS(filter_params, conv.epilogue)};

/* In another layout, conv_packed/dense multiplies the dense filters as tn_conv_by_dense would. */
static const tn_alternative alternatives[] = {
    {"the images had their channels last", CONV_IMAGES, TN_ORDER_CHANNELS_LAST,
     &tn_conv_by_filters},
    {"the images had their channels first", CONV_IMAGES, TN_ORDER_AS_VIEWED, &tn_conv_by_filters},
    {.condition = NULL}};
static const tn_alternative post_alternatives[] = {
    {"the images had their channels last", CONV_IMAGES, TN_ORDER_CHANNELS_LAST,
     &tn_conv_by_filters_post},
    {"the images had their channels first", CONV_IMAGES, TN_ORDER_AS_VIEWED,
     &tn_conv_by_filters_post},
    {.condition = NULL}};

/* The members that all operations share. */
#define FILTER_OPERANDS                                                                            \
    {.name = "x", .image = true}, {.name = "w"},                                                   \
        {.name = "c", .image = true, .optional = true, .role = TN_INPUT_OR_SAME},                  \
        {.name = "bias", .optional = true},                                                        \
    {                                                                                              \
        .name = "y", .image = true, .role = TN_OUTPUT                                              \
    }
#define FILTER_OPERATION                                                                           \
    TN_FIELDS(fields), TN_OWN_PARAMS(filter_defaults), .flags = TENON_CONV_EXACT,                  \
                                                       .channels_last = has_channels_last
#define FILTER_CALL                                                                                \
    FILTER_OPERATION, .operands = {FILTER_OPERANDS}, .operand_count = CONV_OPERANDS,               \
                      .alternatives = alternatives
#define FILTER_POST_CALL                                                                           \
    FILTER_OPERATION, .operands = {FILTER_OPERANDS, POST_OPERANDS}, .operand_count = CONV_VIEWS,   \
                      .alternatives = post_alternatives

const tn_operation tn_conv_by_filters_post = {TN_NAMES("tenon_conv_forward_packed"),
                                              FILTER_POST_CALL,
                                              .family = &tn_conv_packed_post_family,
                                              TN_PROBLEM(filter_problem),
                                              .prepare = prepare_filters,
                                              .repeat = repeat_filters};
static const tn_operation by_pixels_post = {TN_NAMES("tenon_conv_forward_packed"),
                                            FILTER_POST_CALL,
                                            .family = &tn_gemm_packed_post_family,
                                            TN_PROBLEM(packed_problem),
                                            .prepare = prepare_product,
                                            .repeat = repeat_product};
static const tn_operation by_dense_post = {TN_NAMES("tenon_conv_forward"), FILTER_POST_CALL,
                                           .family = &tn_conv_post_family, TN_PROBLEM(conv_problem),
                                           .prepare = tn_conv_prepare};

/* Stores the views of the terms after the activation; returns false if there are none. */
static bool has_post(const void *given, const tenon_tensor **views)
{
    const filter_params *params = given;
    return params != NULL && tn_epilogue_post_views(&params->conv.epilogue, views + CONV_POST);
}

static const tn_operation *filters_served_as(const void *params, const tenon_tensor **views)
{
    return has_post(params, views) ? &tn_conv_by_filters_post : &tn_conv_by_filters;
}

static const tn_operation *pixels_served_as(const void *params, const tenon_tensor **views)
{
    return has_post(params, views) ? &by_pixels_post : &tn_conv_by_pixels;
}

static const tn_operation *dense_served_as(const void *params, const tenon_tensor **views)
{
    return has_post(params, views) ? &by_dense_post : &tn_conv_by_dense;
}

const tn_operation tn_conv_by_filters = {TN_NAMES("tenon_conv_forward_packed"),
                                         FILTER_CALL,
                                         .family = &tn_conv_packed_family,
                                         TN_PROBLEM(filter_problem),
                                         .prepare = prepare_filters,
                                         .repeat = repeat_filters,
                                         .served_as = filters_served_as};

const tn_operation tn_conv_by_pixels = {TN_NAMES("tenon_conv_forward_packed"),
                                        FILTER_CALL,
                                        .family = &tn_gemm_packed_family,
                                        TN_PROBLEM(packed_problem),
                                        .prepare = prepare_product,
                                        .repeat = repeat_product,
                                        .served_as = pixels_served_as};

/* Has the names of tn_operation_conv, because `tenon check` repeats its calls as calls of that. */
const tn_operation tn_conv_by_dense = {
    TN_NAMES("tenon_conv_forward"), FILTER_CALL,
    .family = &tn_conv_family,      TN_PROBLEM(conv_problem),
    .prepare = tn_conv_prepare,     .served_as = dense_served_as};
