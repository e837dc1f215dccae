#include "runtime/context/identity.h"

#include "runtime/context/context.h"
#include "base/processor.h"

#include <tenon/version.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tn_identity_make(const tn_device *device)
{
    const tenon_device_info *info = &device->info;
    char processor[TN_PROCESSOR_SIZE] = "";
    const size_t size = 2048;
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    /* A CPU driver compiles for the processor that it runs on, so the processor is part of the
     * identity. */
    if (device->is_cpu)
        tn_processor_name(processor);
    snprintf(text, size,
             "sources %s\n"
             "library %s, pointers of %zu bytes\n"
             "platform %s, %s\n"
             "driver %s\n"
             "device %s, %s, %s, %u units\n"
             "processor %s\n",
             tn_build_id, tenon_version_string(), sizeof(void *), info->platform_name,
             device->platform_version, info->driver_version, info->name, info->vendor,
             info->version, info->compute_units, processor);
    return text;
}

static char *key_of(const char *identity, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    const size_t size = (size_t)length + strlen(identity) + 2;
    char *key = malloc(size);
    if (key == NULL)
        return NULL;
    vsnprintf(key, size, format, arguments);
    snprintf(key + length, size - (size_t)length, "\n%s", identity);
    return key;
}

char *tn_identity_key(const tenon_context *context, const char *format, ...)
{
    va_list arguments;
    if (context->persistence.store == NULL || context->persistence.identity == NULL)
        return NULL;
    va_start(arguments, format);
    char *key = key_of(context->persistence.identity, format, arguments);
    va_end(arguments);
    return key;
}

char *tn_identity_machine_key(const tenon_context *context, const char *format, ...)
{
    va_list arguments;
    if (context->persistence.store == NULL || context->persistence.identity == NULL)
        return NULL;
    va_start(arguments, format);
    char *key = key_of(strchr(context->persistence.identity, '\n') + 1, format, arguments);
    va_end(arguments);
    return key;
}
