/* The smallest application of Tenon: it knows only the installed header. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void)
{
    tenon_context *context = NULL;
    tenon_status status = tenon_context_create(NULL, &context);

    printf("tenon %s: %s\n", tenon_version_string(), tenon_status_string(status));
    tenon_context_release(context);
    return status == TENON_OK ? 0 : 1;
}
