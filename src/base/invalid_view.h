/* Invalid views. A function that returns a view cannot also return a status: on failure it sets
 * the thread's error message and returns a view of type TENON_DTYPE_INVALID, which records the
 * request. The operation that later rejects the view can thus report the cause. */
#ifndef TN_BASE_INVALID_VIEW_H
#define TN_BASE_INVALID_VIEW_H

#include <tenon/tensor.h>

/* Functions that make views. */
typedef enum tn_view_maker {
    TN_MAKER_VIEW = 1,
    TN_MAKER_VIEW_TYPE, /* tenon_tensor_view with an invalid type */
    TN_MAKER_TRANSPOSE,
    TN_MAKER_SLICE,
    TN_MAKER_SLICE_STEP,
    TN_MAKER_PERMUTE,
    TN_MAKER_SQUEEZE,
    TN_MAKER_UNSQUEEZE,
    TN_MAKER_BROADCAST,
    TN_MAKER_NHWC
} tn_view_maker;

/* Fails with TENON_ERROR_INVALID_ARGUMENT, like tn_fail, and returns the invalid view for the
 * request of `maker` on `tensor` with `count` arguments, at most TENON_MAX_RANK. If `tensor` is
 * already invalid it is returned unchanged, since its cause came first. The memory handle is kept,
 * so that the caller can release it. */
tenon_tensor tn_invalid_view(tn_view_maker maker, const tenon_tensor *tensor, uint32_t count,
                             const int64_t *arguments);

#define TN_INVALID_VIEW_TEXT 640

/* Writes why a view is of type TENON_DTYPE_INVALID. Returns `text`. */
char *tn_invalid_view_text(const tenon_tensor *view, char text[TN_INVALID_VIEW_TEXT]);

#endif
