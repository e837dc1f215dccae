/* tenon_im2col: argument validation, the solver family, and its solvers: `rows` writes columns
 * along q, `channels` along the channels. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/conv/problem/product.h"

#include <stddef.h>
#include <string.h>

/* Minimum elements per CPU work-item for which computing its position is worthwhile. */
#define CPU_ELEMENTS 1024

static bool is_channels(const tn_choice *choice)
{
    return tn_is_solver(choice->solver, &tn_im2col_channels);
}

/* Returns the work. Stores along the contiguous dimension are fast; if the solver uses another one,
 * all stores are scattered. */
static tn_work conv_columns_im2col_work_of(const im2col_problem *p, bool channels)
{
    const conv_window *v = &p->window;
    const double columns =
        (double)p->n * (double)p->c * (double)tn_window_taps(v) * (double)tn_window_pixels(v);
    const double image =
        (double)p->n * (double)p->c * (double)v->size[0] * (double)v->size[1] * (double)v->size[2];
    const bool apart = (channels ? p->col[1] : p->col[7]) != 1;
    tn_work work = tn_conv_unfold_work((uint32_t)p->dtype, image, columns);
    work.vector_elements = apart ? 0 : 5 * columns;
    work.single_elements = apart ? 8 * columns : 0;
    work.rows = columns / (double)tn_max_i64(channels ? p->c : v->out[2], 1);
    work.reach = apart ? 0.5 : 1;
    return work;
}

static const char *conv_columns_im2col_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    const im2col_problem *p = (const im2col_problem *)problem;
    if (is_channels(choice) && p->col[1] != 1)
        choice->never_chosen = "the columns are not contiguous along the channels";
    const tn_work work = conv_columns_im2col_work_of(p, is_channels(choice));
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u", (unsigned)p->dtype);
    return NULL;
}

static im2col_args arguments(const im2col_problem *p)
{
    im2col_args args = {.c = p->c, .window = p->window};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.col_stride, p->col, sizeof args.col_stride);
    return args;
}

static tenon_status conv_columns_im2col_record(const char *caller, tn_recording *recording,
                                               const im2col_problem *p, const tn_choice *choice,
                                               im2col_args *args, int64_t width, int64_t height)
{
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, IM2COL_X, offsetof(im2col_args, x_offset), size},
        {TN_PATCH_OFFSET, IM2COL_COL, offsetof(im2col_args, col_offset), size}};
    /* An empty image has no memory; it is not read. */
    bool empty = tn_window_empty(&p->window);
    /* If the driver chose the work-group size from the global size, PoCL would compile again for
     * each new size. */
    size_t local = recording->context->device.is_cpu ? 1 : 0;
    tn_launch launch = {.source = "conv/columns/im2col",
                        .options = choice->options,
                        .kernel = is_channels(choice) ? "im2col_channels" : "im2col_rows",
                        .dimensions = 3,
                        .global = {(size_t)width, (size_t)height, (size_t)p->n},
                        .local = {local, local, local},
                        .operands = {empty ? IM2COL_COL : IM2COL_X, IM2COL_COL},
                        .operand_count = IM2COL_OPERANDS,
                        TN_ARGS(*args),
                        TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

/* Divides the work. A CPU work-item handles whole lines, or all channels of pixels, enough of them
 * to make its launch worthwhile. A GPU work-item handles one element; adjacent work-items handle
 * adjacent elements. */
static void share_out(const tn_recording *recording, int64_t length, int64_t lines,
                      im2col_args *args)
{
    bool cpu = recording->context->device.is_cpu;
    args->run = cpu ? tn_max_i64(length, 1) : 1;
    args->lines = cpu ? tn_min_i64(lines, tn_ceil_div(CPU_ELEMENTS, args->run)) : 1;
}

static tenon_status conv_columns_im2col_launch(const char *caller, tn_recording *recording,
                                               const tn_problem *problem, const tn_choice *choice)
{
    const im2col_problem *p = (const im2col_problem *)problem;
    const conv_window *v = &p->window;
    const bool by_channels = is_channels(choice);
    const int64_t length = by_channels ? p->c : v->out[2],
                  lines = by_channels ? tn_window_pixels(v) : v->out[0] * v->out[1];
    im2col_args args = arguments(p);
    share_out(recording, length, lines, &args);
    const int64_t across = tn_ceil_div(length, args.run), down = tn_ceil_div(lines, args.lines);
    return by_channels ? conv_columns_im2col_record(caller, recording, p, choice, &args,
                                                    across * tn_window_taps(v), down)
                       : conv_columns_im2col_record(caller, recording, p, choice, &args,
                                                    across * down, p->c * tn_window_taps(v));
}

const tn_solver tn_im2col_rows = {.name = "rows",
                                  .serves = "everything; best if columns are contiguous along q",
                                  .configure = conv_columns_im2col_configure,
                                  .launch = conv_columns_im2col_launch};

const tn_solver tn_im2col_channels = {.name = "channels",
                                      .serves = "columns contiguous along the channels",
                                      .configure = conv_columns_im2col_configure,
                                      .launch = conv_columns_im2col_launch};

static const tn_solver *const solvers[] = {&tn_im2col_channels, &tn_im2col_rows};

const tn_family tn_im2col_family = {
    .name = "im2col", TN_SOLVERS(solvers), .awkward = tn_im2col_awkward};

tenon_status tn_im2col_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_im2col_params *params = given;
    const tenon_tensor *x = call->operands[IM2COL_X].view, *col = call->operands[IM2COL_COL].view;
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(caller, "col", col, "x", x->dtype));
    TN_TRY(tn_im2col_canonicalize(caller, params, x, col, (im2col_problem *)problem));
    *empty = tn_tensor_empty(col);
    return TENON_OK;
}
