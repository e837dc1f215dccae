#include "support.h"

#include "ops/registry.h"
#include "runtime/context/context.h"
#include "runtime/context/validation.h"

static tenon_context *context_with(uint64_t bytes)
{
    tenon_context *context;
    tenon_stream *validation;
    assert_ok(tenon_context_create(NULL, &context));
    assert_ok(tn_validation_enter(context, &validation));
    context->device.info.local_memory = validation->context->device.info.local_memory = bytes;
    tn_validation_leave(context);
    return context;
}

/* Returns true if the named solver was refused because it does not fit in local memory. */
static bool is_refused(tenon_status status)
{
    return status == TENON_ERROR_INVALID_ARGUMENT &&
           strstr(tenon_last_error(), "local memory") != NULL;
}

int test_with_local_memory(uint64_t bytes, const char *const *lines)
{
    tenon_context *context = context_with(bytes);
    tenon_stream *stream;
    int served = 0;
    assert_ok(tenon_stream_create(context, NULL, &stream));
    for (const char *const *line = lines; *line != NULL; line++) {
        tn_case c;
        tn_case_result result;
        memset(&c, 0, sizeof c);
        assert_ok(tn_case_parse_line(*line, TENON_DTYPE_INVALID, &c));
        const tenon_status status = tn_case_run(stream, &c, &result);
        if (is_refused(status))
            continue;
        if (status != TENON_OK)
            fail_msg("%s with %u bytes of local memory: %s", *line, (unsigned)bytes,
                     tenon_last_error());
        if (result.served && !result.right)
            fail_msg("%s with %u bytes of local memory: %s", *line, (unsigned)bytes, result.why);
        served += result.served;
    }
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    return served;
}
