#include "base/invalid_view.h"

#include "base/shape_text.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REASON_SIZE 128

/* Encodes the request in the view's offset, far beyond any memory. The view keeps the source's rank
 * and shape; its strides hold the arguments. */
#define ENCODED_REQUEST(maker, count) (UINT64_MAX - ((uint64_t)(maker) << 32 | (count)))

/* Writes why these arguments are invalid for a view of a valid rank; a list has `count` entries.
 * Leaves `text` unchanged if the cause is an overflow of strides or sizes. */
typedef void explain_function(const tenon_tensor *view, uint32_t count, const int64_t *arguments,
                              char text[REASON_SIZE]);

typedef struct maker_traits {
    const char *name;
    const char *arguments[4]; /* if it takes a list, only the list's name */
    bool takes_list;
    explain_function *why;
} maker_traits;

static void explain_too_low(const char *name, int64_t value, int64_t least, char text[REASON_SIZE])
{
    snprintf(text, REASON_SIZE, "%s is %" PRId64 ", must be at least %" PRId64, name, value, least);
}

/* Returns true, with the reason, if the view has no such dimension. */
static bool check_dimension(const tenon_tensor *view, const char *name, int64_t dim,
                            char text[REASON_SIZE])
{
    if (dim >= 0 && dim < view->rank)
        return false;
    snprintf(text, REASON_SIZE, "%s is %" PRId64 ", must be below the rank, %u", name, dim,
             view->rank);
    return true;
}

/* Returns true, with the reason, if a list of sizes is invalid. A list longer than TENON_MAX_RANK
 * is not stored in the view. */
static bool check_sizes(uint32_t count, const int64_t *sizes, char text[REASON_SIZE])
{
    for (uint32_t d = 0; d < count && count <= TENON_MAX_RANK; d++)
        if (sizes[d] < 0) {
            snprintf(text, REASON_SIZE, "size %u is %" PRId64 ", must be at least 0", d, sizes[d]);
            return true;
        }
    if (count > TENON_MAX_RANK)
        snprintf(text, REASON_SIZE, "must be at most %d", TENON_MAX_RANK);
    return count > TENON_MAX_RANK;
}

static void explain_view(const tenon_tensor *view, uint32_t count, const int64_t *sizes,
                         char text[REASON_SIZE])
{
    (void)view;
    if (count == 0)
        snprintf(text, REASON_SIZE, "a rank of 1 or more needs sizes");
    else
        check_sizes(count, sizes, text);
}

static void explain_type(const tenon_tensor *view, uint32_t count, const int64_t *type,
                         char text[REASON_SIZE])
{
    (void)view;
    (void)count;
    (void)type;
    snprintf(text, REASON_SIZE, "must be a tenon_dtype other than TENON_DTYPE_INVALID");
}

static void explain_transpose(const tenon_tensor *view, uint32_t count, const int64_t *dims,
                              char text[REASON_SIZE])
{
    (void)count;
    if (!check_dimension(view, "d0", dims[0], text))
        check_dimension(view, "d1", dims[1], text);
}

/* For a slice, with or without a step. `a` is dim, start, size[, step]. */
static void explain_slice(const tenon_tensor *view, uint32_t count, const int64_t *a,
                          char text[REASON_SIZE])
{
    const int64_t step = count > 3 ? a[3] : 1;
    if (check_dimension(view, "dim", a[0], text))
        return;
    const int64_t size = view->shape[a[0]];
    if (a[1] < 0)
        explain_too_low("start", a[1], 0, text);
    else if (a[2] < 0)
        explain_too_low("size", a[2], 0, text);
    else if (step < 1)
        explain_too_low("step", step, 1, text);
    else if (a[1] > size || (a[2] > 0 && (size - a[1] < 1 || a[2] - 1 > (size - a[1] - 1) / step)))
        snprintf(text, REASON_SIZE, "dimension %" PRId64 " has %" PRId64 " entries", a[0], size);
}

static void explain_permutation(const tenon_tensor *view, uint32_t count, const int64_t *order,
                                char text[REASON_SIZE])
{
    uint32_t seen = 0;
    char name[32];
    if (count == 0)
        snprintf(text, REASON_SIZE, "must list all %u dimensions", view->rank);
    for (uint32_t d = 0; d < count && d < TENON_MAX_RANK; d++) {
        snprintf(name, sizeof name, "entry %u", d);
        if (check_dimension(view, name, order[d], text))
            return;
        if ((seen >> order[d] & 1) != 0)
            snprintf(text, REASON_SIZE, "dimension %" PRId64 " appears twice", order[d]);
        seen |= 1U << order[d];
    }
}

static void explain_squeeze(const tenon_tensor *view, uint32_t count, const int64_t *dim,
                            char text[REASON_SIZE])
{
    (void)count;
    if (!check_dimension(view, "dim", *dim, text))
        snprintf(text, REASON_SIZE, "its size is %" PRId64 ", must be 1", view->shape[*dim]);
}

static void explain_unsqueeze(const tenon_tensor *view, uint32_t count, const int64_t *dim,
                              char text[REASON_SIZE])
{
    (void)count;
    if (view->rank == TENON_MAX_RANK)
        snprintf(text, REASON_SIZE, "the rank is already the maximum, %d", TENON_MAX_RANK);
    else
        snprintf(text, REASON_SIZE, "dim is %" PRId64 ", must be at most the rank, %u", *dim,
                 view->rank);
}

static void explain_broadcast(const tenon_tensor *view, uint32_t count, const int64_t *sizes,
                              char text[REASON_SIZE])
{
    if (count == 0 && view->rank == 0)
        snprintf(text, REASON_SIZE, "a rank of 1 or more needs sizes");
    if (check_sizes(count, sizes, text))
        return;
    if (count < view->rank) {
        snprintf(text, REASON_SIZE, "its rank is %u, must be at least %u", count, view->rank);
        return;
    }
    for (uint32_t d = count - view->rank; d < count; d++) {
        const int64_t size = view->shape[d - (count - view->rank)];
        if (size != 1 && size != sizes[d]) {
            snprintf(text, REASON_SIZE, "size %u is %" PRId64 ", must be %" PRId64, d, sizes[d],
                     size);
            return;
        }
    }
}

static void explain_nhwc(const tenon_tensor *view, uint32_t count, const int64_t *rank,
                         char text[REASON_SIZE])
{
    (void)view;
    (void)count;
    (void)rank;
    snprintf(text, REASON_SIZE, "must be 3, 4 or 5: N, the spatial dimensions and C");
}

static const maker_traits makers[] = {
    [TN_MAKER_VIEW] = {"tenon_tensor_view", {"shape"}, true, explain_view},
    [TN_MAKER_VIEW_TYPE] = {"tenon_tensor_view", {"dtype"}, false, explain_type},
    [TN_MAKER_TRANSPOSE] = {"tenon_tensor_transpose", {"d0", "d1"}, false, explain_transpose},
    [TN_MAKER_SLICE] = {"tenon_tensor_slice", {"dim", "start", "size"}, false, explain_slice},
    [TN_MAKER_SLICE_STEP] = {"tenon_tensor_slice_step",
                             {"dim", "start", "size", "step"},
                             false,
                             explain_slice},
    [TN_MAKER_PERMUTE] = {"tenon_tensor_permute", {"order"}, true, explain_permutation},
    [TN_MAKER_SQUEEZE] = {"tenon_tensor_squeeze", {"dim"}, false, explain_squeeze},
    [TN_MAKER_UNSQUEEZE] = {"tenon_tensor_unsqueeze", {"dim"}, false, explain_unsqueeze},
    [TN_MAKER_BROADCAST] = {"tenon_tensor_broadcast", {"shape"}, true, explain_broadcast},
    [TN_MAKER_NHWC] = {"tenon_tensor_nhwc", {"rank"}, false, explain_nhwc},
};

tenon_tensor tn_invalid_view(tn_view_maker maker, const tenon_tensor *tensor, uint32_t count,
                             const int64_t *arguments)
{
    char text[TN_INVALID_VIEW_TEXT];
    tenon_tensor view = *tensor;
    if (view.dtype == TENON_DTYPE_INVALID) {
        tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: tensor is an invalid view: %s",
                makers[maker].name, tn_invalid_view_text(&view, text));
        return view;
    }
    view.dtype = TENON_DTYPE_INVALID;
    view.offset = ENCODED_REQUEST(maker, arguments != NULL ? count : 0);
    memset(view.stride, 0, sizeof view.stride);
    if (arguments != NULL && count <= TENON_MAX_RANK)
        memcpy(view.stride, arguments, count * sizeof *arguments);
    tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s", tn_invalid_view_text(&view, text));
    return view;
}

static void describe_list(const char *name, uint32_t count, const int64_t *list, char text[200])
{
    char sizes[160];
    if (count == 0)
        snprintf(text, 200, "%s NULL", name);
    else if (count > TENON_MAX_RANK)
        snprintf(text, 200, "a rank of %" PRIu32, count);
    else
        snprintf(text, 200, "%s %s", name, tn_shape_text(count, list, sizes));
}

static void describe_numbers(const char *const *names, uint32_t count, const int64_t *numbers,
                             char text[200])
{
    int used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += snprintf(text + used, (size_t)(200 - used), "%s%s %" PRId64, i > 0 ? ", " : "",
                         names[i], numbers[i]);
}

char *tn_invalid_view_text(const tenon_tensor *view, char text[TN_INVALID_VIEW_TEXT])
{
    char shape[160], arguments[200];
    const uint64_t request = UINT64_MAX - view->offset;
    const uint32_t maker = (uint32_t)(request >> 32), count = (uint32_t)request;
    if (request >> 32 >= sizeof makers / sizeof *makers || maker == 0) {
        snprintf(text, TN_INVALID_VIEW_TEXT,
                 "its dtype is 0: it was destroyed or never initialized");
        return text;
    }
    if (makers[maker].takes_list)
        describe_list(makers[maker].arguments[0], count, view->stride, arguments);
    else
        describe_numbers(makers[maker].arguments, count, view->stride, arguments);
    const bool is_first = maker == TN_MAKER_VIEW || maker == TN_MAKER_VIEW_TYPE;
    const uint32_t rank = view->rank < TENON_MAX_RANK ? view->rank : TENON_MAX_RANK;
    char why[REASON_SIZE] = "sizes and strides overflow";
    if (view->rank > TENON_MAX_RANK)
        snprintf(why, sizeof why, "its rank is %u, must be at most %d", view->rank, TENON_MAX_RANK);
    else
        makers[maker].why(view, count, view->stride, why);
    snprintf(text, TN_INVALID_VIEW_TEXT, "%s%s%s refused %s: %s", makers[maker].name,
             is_first ? "" : " of ", is_first ? "" : tn_shape_text(rank, view->shape, shape),
             arguments, why);
    return text;
}
