#include "base/invalid_view.h"

#include "base/shape_text.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The note: rank and shape are those of the tensor that was given, the strides are the arguments,
 * and the offset is this, where no memory lies. */
#define NOTE(maker, count) (UINT64_MAX - ((uint64_t)(maker) << 32 | (count)))

typedef struct maker_traits {
    const char *name;
    const char *arguments[4]; /* of one that takes a list, the list's name */
    bool takes_list;
} maker_traits;

static const maker_traits makers[] = {
    [TN_MAKER_VIEW] = {"tenon_tensor_view", {"shape"}, true},
    [TN_MAKER_VIEW_TYPE] = {"tenon_tensor_view", {"dtype"}, false},
    [TN_MAKER_TRANSPOSE] = {"tenon_tensor_transpose", {"d0", "d1"}, false},
    [TN_MAKER_SLICE] = {"tenon_tensor_slice", {"dim", "start", "size"}, false},
    [TN_MAKER_SLICE_STEP] = {"tenon_tensor_slice_step", {"dim", "start", "size", "step"}, false},
    [TN_MAKER_PERMUTE] = {"tenon_tensor_permute", {"order"}, true},
    [TN_MAKER_SQUEEZE] = {"tenon_tensor_squeeze", {"dim"}, false},
    [TN_MAKER_UNSQUEEZE] = {"tenon_tensor_unsqueeze", {"dim"}, false},
    [TN_MAKER_BROADCAST] = {"tenon_tensor_broadcast", {"shape"}, true},
    [TN_MAKER_NHWC] = {"tenon_tensor_nhwc", {"rank"}, false},
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
    view.offset = NOTE(maker, arguments != NULL ? count : 0);
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
    const uint64_t note = UINT64_MAX - view->offset;
    const uint32_t maker = (uint32_t)(note >> 32), count = (uint32_t)note;
    if (note >> 32 >= sizeof makers / sizeof *makers || maker == 0) {
        snprintf(text, TN_INVALID_VIEW_TEXT, "its dtype is 0, as of one never filled in");
        return text;
    }
    if (makers[maker].takes_list)
        describe_list(makers[maker].arguments[0], count, view->stride, arguments);
    else
        describe_numbers(makers[maker].arguments, count, view->stride, arguments);
    const bool is_first = maker == TN_MAKER_VIEW || maker == TN_MAKER_VIEW_TYPE;
    const uint32_t rank = view->rank < TENON_MAX_RANK ? view->rank : TENON_MAX_RANK;
    snprintf(text, TN_INVALID_VIEW_TEXT, "%s%s%s refused %s", makers[maker].name,
             is_first ? "" : " of ", is_first ? "" : tn_shape_text(rank, view->shape, shape),
             arguments);
    return text;
}
