/* Views that could not be made. A function that returns a view cannot return a status as well: it
 * fails with the thread's message alone, and in place of the impossible view gives one of type
 * TENON_DTYPE_INVALID, which notes what was asked for, so that the call that refuses it can say so,
 * too. */
#ifndef TN_BASE_INVALID_VIEW_H
#define TN_BASE_INVALID_VIEW_H

#include <tenon/tensor.h>

/* The functions that make views. */
typedef enum tn_view_maker {
    TN_MAKER_VIEW = 1,
    TN_MAKER_VIEW_TYPE, /* tenon_tensor_view, where it is the type that is none */
    TN_MAKER_TRANSPOSE,
    TN_MAKER_SLICE,
    TN_MAKER_SLICE_STEP,
    TN_MAKER_PERMUTE,
    TN_MAKER_SQUEEZE,
    TN_MAKER_UNSQUEEZE,
    TN_MAKER_BROADCAST,
    TN_MAKER_NHWC
} tn_view_maker;

/* Fails with TENON_ERROR_INVALID_ARGUMENT, as tn_fail does, and gives the invalid view that stands
 * for what `maker` was to make of `tensor` with `count` arguments, at most TENON_MAX_RANK. A tensor
 * that is an invalid view itself stays as it is: its cause came first. The memory stays the
 * tensor's, for a caller who gives it back from here. */
tenon_tensor tn_invalid_view(tn_view_maker maker, const tenon_tensor *tensor, uint32_t count,
                             const int64_t *arguments);

#define TN_INVALID_VIEW_TEXT 640

/* Why a view is of type TENON_DTYPE_INVALID. Returns `text`. */
char *tn_invalid_view_text(const tenon_tensor *view, char text[TN_INVALID_VIEW_TEXT]);

#endif
