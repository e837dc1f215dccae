#include "dispatch/channels_last.h"

#include <stdio.h>
#include <string.h>

typedef struct reading {
    tn_call call; /* with the views below */
    tenon_tensor views[TN_MAX_OPERANDS];
} reading;

/* Returns the operand's bit if it is an image given by the caller. */
static uint32_t image_bit(const tn_call *call, uint32_t i)
{
    const tenon_tensor *view = call->operands[i].view;
    return (uint32_t)(call->operation->operands[i].image && view != NULL &&
                      tenon_dtype_size(view->dtype) != 0 && view->rank >= 3 && view->rank <= 5)
           << i;
}

/* Returns true if the call is valid with the operands of these bits read as N H W C. */
static bool would_fit(const void *params, const tn_call *call, uint32_t bits)
{
    uint64_t room[TN_PROBLEM_SIZE / sizeof(uint64_t)] = {0};
    tn_problem *problem = (tn_problem *)room;
    reading r = {.call = *call};
    bool empty = false;
    for (uint32_t i = 0; i < call->operand_count; i++)
        if ((bits >> i & 1) != 0) {
            r.views[i] = tenon_tensor_nhwc(*call->operands[i].view);
            r.call.operands[i].view = &r.views[i];
        }
    return tn_operation_try(params, &r.call, problem, &empty) == TENON_OK;
}

static int count_bits(uint32_t bits)
{
    int count = 0;
    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

/* Returns the smallest set of images that makes the call valid; 0 if there is none. */
static uint32_t find_images(const void *params, const tn_call *call, uint32_t images)
{
    uint32_t found = 0;
    for (uint32_t bits = images; bits != 0; bits = (bits - 1) & images)
        if ((found == 0 || count_bits(bits) <= count_bits(found)) && would_fit(params, call, bits))
            found = bits;
    return found;
}

static void append_hint(const tn_call *call, uint32_t bits)
{
    char text[256];
    const bool several = (bits & (bits - 1)) != 0;
    size_t used = (size_t)snprintf(text, sizeof text, "; if ");
    for (uint32_t i = 0; i < call->operand_count; i++)
        if ((bits >> i & 1) != 0) {
            const uint32_t before = bits & ((1U << i) - 1), after = bits >> i >> 1;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     before == 0  ? ""
                                     : after != 0 ? ", "
                                                  : " and ",
                                     call->operands[i].name);
        }
    snprintf(text + used, sizeof text - used,
             " %s stored as N H W C, make %s with tenon_tensor_nhwc", several ? "are" : "is",
             several ? "their views" : "its view");
    tn_fail_append(text);
}

tenon_status tn_channels_last_hint(const void *params, const tn_call *call, tenon_status status)
{
    tn_kept_message kept;
    uint32_t images = 0;
    if (status != TENON_ERROR_INVALID_ARGUMENT)
        return status;
    for (uint32_t i = 0; i < call->operand_count; i++)
        images |= image_bit(call, i);
    if (images == 0 || !tn_message_keep(&kept))
        return status;
    uint32_t found = find_images(params, call, images);
    tn_message_restore(&kept);
    if (found == 0 && call->operation->channels_last != NULL)
        found = call->operation->channels_last(params, call) & images;
    if (found != 0)
        append_hint(call, found);
    return status;
}
