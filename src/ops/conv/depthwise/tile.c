/* Helpers shared by the depthwise solvers. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/depthwise/depthwise.h"

/* Limits that prevent overflow; windows beyond them do not fit a tile anyway. */
#define MOST_STRIDE 4096
#define MOST_REACH  (1 << 20)

int64_t tn_depthwise_span(const int64_t *shape, const int64_t *stride)
{
    int64_t span = 1;
    for (int d = 0; d < CONV_RANK; d++)
        span += (shape[d] - 1) * stride[d];
    return span;
}

int tn_depthwise_taps(const conv_window *v)
{
    bool square = v->filter[1] == v->filter[2];
    return square && (v->filter[1] == 3 || v->filter[1] == 5) ? (int)v->filter[1] : 0;
}

int tn_depthwise_stride(const conv_window *v)
{
    bool serves = tn_depthwise_taps(v) != 0 && v->stride[1] == v->stride[2] && v->stride[1] <= 2 &&
                  v->dilation[1] == 1 && v->dilation[2] == 1;
    return serves ? (int)v->stride[1] : 0;
}

int64_t tn_depthwise_room(uint32_t dtype)
{
    return TN_DEPTHWISE_TILE_BYTES / (int64_t)tn_acc_size(dtype);
}

/* Lays out a tile's row of `columns` columns. */
static void lay_row(const conv_window *v, int64_t spread, int64_t columns, int64_t lanes,
                    depthwise_tile *t)
{
    int64_t reach = (v->filter[2] - 1) * v->dilation[2];
    t->columns = columns;
    /* Includes the loads of the last vector beyond the last tap. */
    t->phase = tn_round_up(tn_round_up(columns, lanes) + reach / v->stride[2],
                           spread > 1 ? 2 * lanes : lanes);
    t->pitch = t->phase * v->stride[2] + (spread > 1 ? lanes : 0);
}

static int64_t rows_under(const conv_window *v, int64_t rows)
{
    return (rows - 1) * v->stride[1] + (v->filter[1] - 1) * v->dilation[1] + 1;
}

/* Uses the whole width if that leaves space for some rows, otherwise as many columns as fit. */
bool tn_depthwise_lay_out(const conv_window *v, int64_t spread, int64_t members, int64_t room,
                          int64_t rows, int64_t lanes, depthwise_tile *t)
{
    int64_t each = room / members, columns = tn_min_i64(v->out[2], TN_DEPTHWISE_BLOCKS * lanes);
    t->tap_quotient = v->dilation[2] / v->stride[2];
    t->tap_remainder = v->dilation[2] % v->stride[2];
    lay_row(v, spread, columns, lanes, t);
    while (t->pitch * rows_under(v, rows) > each && columns > lanes) {
        columns = tn_round_up(columns / 2, lanes);
        lay_row(v, spread, columns, lanes, t);
    }
    if (t->pitch * rows_under(v, rows) > each)
        return false;
    int64_t most = tn_round_up(v->out[1], rows);
    for (t->rows = rows; t->rows < most && t->pitch * rows_under(v, t->rows + rows) <= each;)
        t->rows += rows;
    t->member = t->pitch * rows_under(v, t->rows);
    return true;
}

const char *tn_depthwise_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if (p->c != 1)
        return "a group has more than one channel";
    if (v->filter[0] != 1)
        return "the window has three dimensions";
    if (p->n == 0 || p->k == 0 || p->groups == 0 || tn_window_pixels(v) == 0 ||
        tn_window_empty(v) || (p->flags & CONV_SKIP_XW) != 0)
        return "there is nothing to multiply";
    for (int d = 0; d < 3; d++)
        if (v->stride[d] > MOST_STRIDE || v->dilation[d] > MOST_REACH ||
            v->filter[d] > MOST_REACH || (v->filter[d] - 1) * v->dilation[d] > MOST_REACH)
            return "the window is too large";
    return NULL;
}

int32_t tn_depthwise_lanes(tenon_context *context, uint32_t dtype)
{
    return context->device.is_cpu ? (int32_t)tn_lanes(context, dtype) : 1;
}

bool tn_depthwise_along_channels(const conv_problem *p, int32_t lanes)
{
    return lanes > 1 && p->k == 1 && p->x[1] == 1 && p->y[1] == 1 &&
           tn_window_taps(&p->window) <= TN_DEPTHWISE_MOST_TAPS;
}
