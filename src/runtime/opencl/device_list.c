/* Enumeration of devices, and selection by a selector string. */
#include "base/sized.h"
#include "base/grow.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/device.h"
#include "runtime/opencl/opencl.h"
#include "runtime/opencl/sub_device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct device_list {
    tenon_device_info *entries;
    uint32_t count, capacity;
    /* Of the last device that could not be read, which may be the requested one; TENON_OK if all
     * could be read. */
    tenon_status unread_status;
    cl_int unread_error;
} device_list;

static tenon_device_info *append(device_list *list)
{
    if (!tn_grow(&list->entries, list->count, &list->capacity, sizeof *list->entries))
        return NULL;
    return memset(&list->entries[list->count++], 0, sizeof *list->entries);
}

static tenon_status out_of_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the list of devices", caller);
}

/* Returns true if the library itself failed (out of memory), not a driver. */
static bool is_our_own(tenon_status status)
{
    return status != TENON_OK && tenon_last_cl_error() == CL_SUCCESS;
}

/* Appends an entry without a device; its note gives the reason. */
static tenon_status append_note(const char *caller, device_list *list, cl_platform_id platform,
                                const char *what, const char *why)
{
    char name[sizeof list->entries->platform_name];
    tenon_status status = tn_platform_read(caller, platform, name, NULL);
    if (is_our_own(status))
        return status;
    tenon_device_info *info = append(list);
    if (info == NULL)
        return out_of_memory(caller);
    info->platform = platform;
    snprintf(info->platform_name, sizeof info->platform_name, "%s", name);
    snprintf(info->note, sizeof info->note, "%s: %s", what, why);
    return TENON_OK;
}

/* Appends an entry for a broken device or platform. One failing driver must not hide the devices
 * of others. */
static tenon_status append_broken(const char *caller, device_list *list, cl_platform_id platform,
                                  const char *what, tenon_status status)
{
    char why[sizeof list->entries->note];
    if (is_our_own(status))
        return status;
    list->unread_status = status;
    list->unread_error = tenon_last_cl_error();
    snprintf(why, sizeof why, "%s", tenon_last_error());
    return append_note(caller, list, platform, what, why);
}

static tenon_status append_devices(const char *caller, device_list *list, unsigned p,
                                   cl_platform_id platform, const cl_device_id *ids, cl_uint count)
{
    for (cl_uint d = 0; d < count; d++) {
        tn_device device;
        tenon_status status = tn_device_read(caller, ids[d], &device);
        if (status != TENON_OK) {
            TN_TRY(append_broken(caller, list, platform, "an unreadable device", status));
            continue;
        }
        tenon_device_info *info = append(list);
        if (info == NULL)
            return out_of_memory(caller);
        *info = device.info;
        snprintf(info->selector, sizeof info->selector, "%u:%u", p, d);
    }
    return TENON_OK;
}

static tenon_status append_platform(const char *caller, device_list *list, unsigned p,
                                    cl_platform_id platform)
{
    static const char what[] = "no device";
    cl_uint count = 0;
    cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    /* Mesa has platforms without a device: they are listed, and the enumeration continues. */
    if (error == CL_DEVICE_NOT_FOUND || (error == CL_SUCCESS && count == 0))
        return append_note(caller, list, platform, what,
                           error != CL_SUCCESS ? tn_cl_error_string(error) : "the list is empty");
    cl_device_id *ids = calloc(count > 0 ? count : 1, sizeof *ids);
    if (ids == NULL)
        return out_of_memory(caller);
    if (error == CL_SUCCESS)
        error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    tenon_status status = error == CL_SUCCESS
                              ? append_devices(caller, list, p, platform, ids, count)
                              : append_broken(caller, list, platform, what,
                                              tn_fail_opencl(caller, "clGetDeviceIDs", error));
    free(ids);
    return status;
}

static tenon_status append_all(const char *caller, device_list *list)
{
    cl_uint count = 0;
    TN_TRY(tn_opencl_load(caller));
    cl_int error = clGetPlatformIDs(0, NULL, &count);
    /* A loader without any platform returns CL_PLATFORM_NOT_FOUND_KHR. */
    if (error == -1001 || (error == CL_SUCCESS && count == 0))
        return TENON_OK;
    TN_CL_TRY(caller, "clGetPlatformIDs", error);
    cl_platform_id *platforms = calloc(count, sizeof *platforms);
    if (platforms == NULL)
        return out_of_memory(caller);
    error = clGetPlatformIDs(count, platforms, NULL);
    tenon_status status =
        error == CL_SUCCESS ? TENON_OK : tn_fail_opencl(caller, "clGetPlatformIDs", error);
    for (cl_uint p = 0; p < count && status == TENON_OK; p++)
        status = append_platform(caller, list, p, platforms[p]);
    free(platforms);
    return status;
}

/* Fills the list. The caller frees it, even after a failure. */
static tenon_status enumerate(const char *caller, device_list *list)
{
    tn_kept_message kept;
    if (!tn_message_keep(&kept))
        return out_of_memory(caller);
    return tn_message_end(&kept, append_all(caller, list));
}

/* The stride between entries is the size of the caller's struct. */
static void copy_infos(const device_list *list, tenon_device_info *infos, uint32_t capacity)
{
    const uint32_t size = capacity > 0 ? infos->struct_size : 0;
    char *at = (char *)infos;
    for (uint32_t i = 0; i < list->count && i < capacity; i++, at += size) {
        memcpy(at, &size, sizeof size);
        tn_sized_fill(at, &list->entries[i], sizeof *list->entries);
    }
}

TENON_API tenon_status tenon_device_list(tenon_device_info *infos, uint32_t capacity,
                                         uint32_t *count)
{
    if (count == NULL || (infos == NULL && capacity > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "tenon_device_list: %s is NULL",
                       count == NULL ? "count" : "infos");
    if (capacity > 0)
        TN_TRY(tn_sized_check("tenon_device_list", "infos", infos));
    device_list list = {0};
    tenon_status status = enumerate("tenon_device_list", &list);
    if (status == TENON_OK) {
        *count = list.count;
        copy_infos(&list, infos, capacity);
    }
    free(list.entries);
    return status;
}

/* Returns true if `text` contains `fragment`, ignoring case. */
static bool contains(const char *text, const char *fragment)
{
    size_t length = strlen(fragment);
    for (; strlen(text) >= length; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)fragment[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static bool equal_word(const char *text, const char *word)
{
    return strlen(text) == strlen(word) && contains(text, word);
}

static bool has_type(const tenon_device_info *info, cl_device_type type)
{
    return info->device != NULL && (info->type & type) != 0;
}

static const tenon_device_info *first_of_type(const device_list *list, cl_device_type type)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (has_type(&list->entries[i], type))
            return &list->entries[i];
    return NULL;
}

static const tenon_device_info *first_named(const device_list *list, const char *selector)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const tenon_device_info *info = &list->entries[i];
        if (info->device != NULL && strcmp(info->selector, selector) == 0)
            return info;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const tenon_device_info *info = &list->entries[i];
        if (info->device != NULL &&
            (contains(info->platform_name, selector) || contains(info->vendor, selector) ||
             contains(info->name, selector)))
            return info;
    }
    return NULL;
}

static const tenon_device_info *find_whole(const device_list *list, const char *selector)
{
    const tenon_device_info *info;
    if (selector != NULL) {
        if (equal_word(selector, "gpu"))
            return first_of_type(list, CL_DEVICE_TYPE_GPU);
        if (equal_word(selector, "cpu"))
            return first_of_type(list, CL_DEVICE_TYPE_CPU);
        if (equal_word(selector, "accelerator"))
            return first_of_type(list, CL_DEVICE_TYPE_ACCELERATOR);
        return first_named(list, selector);
    }
    if ((info = first_of_type(list, CL_DEVICE_TYPE_GPU)) != NULL ||
        (info = first_of_type(list, CL_DEVICE_TYPE_ACCELERATOR)) != NULL)
        return info;
    return first_of_type(list, CL_DEVICE_TYPE_ALL);
}

/* If a device could not be read, its status is returned, since it might have matched. */
static tenon_status fail_not_found(const char *caller, const device_list *list,
                                   const char *selector)
{
    const char *rest =
        list->count == 0 ? ": no OpenCL driver is installed; " TN_INSTALL_DRIVER : "; found:";
    const tenon_status status =
        list->unread_status != TENON_OK ? list->unread_status : TENON_ERROR_DEVICE_NOT_FOUND;
    if (selector != NULL)
        tn_fail_cl(status, list->unread_error, "%s: no device matches the selector \"%s\"%s",
                   caller, selector, rest);
    else
        tn_fail_cl(status, list->unread_error, "%s: no OpenCL device was found%s", caller, rest);
    for (uint32_t i = 0; i < list->count; i++) {
        const tenon_device_info *info = &list->entries[i];
        char line[512];
        snprintf(line, sizeof line, "\n  %s %s: %s", info->selector, info->platform_name,
                 info->device != NULL ? info->name : info->note);
        tn_fail_append(line);
    }
    return status;
}

/* Copies the entry that matches to `info`. A selector that matches a name as a whole selects a
 * whole device, even if it ends like that of a part. */
static tenon_status find(const char *caller, const device_list *list, const char *selector,
                         tenon_device_info *info)
{
    const tenon_device_info *found = find_whole(list, selector);
    tn_device_part part = {0, 0};
    size_t length = 0;
    if (found == NULL && selector != NULL)
        part = tn_device_part_read(selector, &length);
    if (part.parts > 0) {
        char *whole = calloc(length + 1, 1);
        if (whole == NULL)
            return out_of_memory(caller);
        memcpy(whole, selector, length);
        found = find_whole(list, length > 0 ? whole : NULL);
        free(whole);
    }
    if (found == NULL)
        return fail_not_found(caller, list, selector);
    *info = *found;
    return part.parts > 0 ? tn_device_part_open(caller, part, info) : TENON_OK;
}

tenon_status tn_device_select(const char *caller, const char *selector, tenon_device_info *info)
{
    if (selector == NULL || selector[0] == '\0')
        selector = getenv("TENON_DEVICE");
    if (selector != NULL && selector[0] == '\0')
        selector = NULL;
    device_list list = {0};
    tenon_device_info found;
    tenon_status status = enumerate(caller, &list);
    if (status == TENON_OK)
        status = find(caller, &list, selector, &found);
    if (status == TENON_OK)
        tn_sized_fill(info, &found, sizeof found);
    free(list.entries);
    return status;
}

TENON_API tenon_status tenon_device_select(const char *selector, tenon_device_info *info)
{
    static const char caller[] = "tenon_device_select";
    TN_TRY(tn_sized_check(caller, "info", info));
    return tn_device_select(caller, selector, info);
}
