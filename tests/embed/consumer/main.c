/* Minimal application that includes only the installed header. Exits with status 3 if OpenCL is
 * missing. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void)
{
    tenon_context *context = NULL;
    tenon_status status =
        tenon_context_create(&tenon_context_params(.log_level = TENON_LOG_ERROR), &context);

    printf("tenon %s: %s%s%s\n", tenon_version_string(), tenon_status_string(status),
           status == TENON_OK ? "" : ": ", status == TENON_OK ? "" : tenon_last_error());
    tenon_context_release(context);
    return status == TENON_OK ? 0 : status == TENON_ERROR_NO_OPENCL ? 3 : 1;
}
