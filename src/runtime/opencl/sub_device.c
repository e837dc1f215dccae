#include "runtime/opencl/sub_device.h"

#include "base/grow.h"
#include "base/platform.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every division made so far. A cl_device_id has no owner that could release it (contexts, queues
 * and copies of tenon_device_info refer to it), so like a whole device it lives as long as the
 * process. */
typedef struct division {
    cl_device_id whole;
    uint32_t parts;
    cl_device_id *ids; /* `parts` of them */
} division;

static tn_mutex lock = TN_MUTEX_INIT;
static division *divisions;
static uint32_t division_count, division_capacity;

/* Reads a decimal number without a sign; returns NULL if there is none or it is too large. */
static const char *read_number(const char *text, uint32_t *value)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if ((number = number * 10 + (uint64_t)(*at - '0')) > UINT32_MAX)
            return NULL;
    *value = (uint32_t)number;
    return at > text ? at : NULL;
}

tn_device_part tn_device_part_read(const char *selector, size_t *length)
{
    tn_device_part part = {0, 0};
    const char *slash = strrchr(selector, '/');
    const char *end = slash != NULL ? read_number(slash + 1, &part.parts) : NULL;
    if (end != NULL && *end == ':')
        end = read_number(end + 1, &part.index);
    const bool is_part = end != NULL && *end == '\0' && part.parts > 0;
    *length = is_part ? (size_t)(slash - selector) : strlen(selector);
    return is_part ? part : (tn_device_part){0, 0};
}

static tenon_status divide(const char *caller, const tenon_device_info *info, division *made)
{
    const uint32_t units = info->compute_units / made->parts;
    const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                (cl_device_partition_property)units, 0};
    /* Units that are left over make further parts, for which there must be room. */
    const cl_uint room = info->compute_units / units;
    cl_uint count = 0;
    made->ids = calloc(room, sizeof *made->ids);
    if (made->ids == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the parts of a device",
                       caller);
    cl_int error = clCreateSubDevices(made->whole, how, room, made->ids, &count);
    if (error == CL_SUCCESS && count >= made->parts)
        return TENON_OK;
    free(made->ids);
    made->ids = NULL;
    return tn_fail_cl(TENON_ERROR_UNSUPPORTED_DEVICE, error,
                      "%s: the driver of %s does not divide it into %u parts: "
                      "clCreateSubDevices returned %s and %u devices",
                      caller, info->name, (unsigned)made->parts, tn_cl_error_string(error),
                      (unsigned)count);
}

/* Returns the device's parts, which are made at the first request. The caller holds the lock. */
static tenon_status find_or_divide(const char *caller, const tenon_device_info *info,
                                   uint32_t parts, const cl_device_id **ids)
{
    for (uint32_t i = 0; i < division_count; i++)
        if (divisions[i].whole == info->device && divisions[i].parts == parts) {
            *ids = divisions[i].ids;
            return TENON_OK;
        }
    if (!tn_grow(&divisions, division_count, &division_capacity, sizeof *divisions))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the parts of a device",
                       caller);
    division made = {info->device, parts, NULL};
    TN_TRY(divide(caller, info, &made));
    divisions[division_count++] = made;
    *ids = made.ids;
    return TENON_OK;
}

tenon_status tn_device_part_open(const char *caller, tn_device_part part, tenon_device_info *info)
{
    const cl_device_id *ids = NULL;
    char selector[2 * sizeof info->selector];
    if (part.index >= part.parts)
        return tn_fail(TENON_ERROR_DEVICE_NOT_FOUND,
                       "%s: part %u of %u does not exist; parts are counted from 0", caller,
                       (unsigned)part.index, (unsigned)part.parts);
    if (part.parts > info->compute_units)
        return tn_fail(TENON_ERROR_DEVICE_NOT_FOUND,
                       "%s: %s has %u compute units and cannot be divided into %u parts", caller,
                       info->name, (unsigned)info->compute_units, (unsigned)part.parts);
    snprintf(selector, sizeof selector, "%s/%u:%u", info->selector, (unsigned)part.parts,
             (unsigned)part.index);
    tn_mutex_lock(&lock);
    tenon_status status = find_or_divide(caller, info, part.parts, &ids);
    if (status == TENON_OK && ids != NULL)
        info->device = ids[part.index];
    tn_mutex_unlock(&lock);
    TN_TRY(status);
    info->compute_units /= part.parts;
    snprintf(info->selector, sizeof info->selector, "%.*s", (int)sizeof info->selector - 1,
             selector);
    return TENON_OK;
}
