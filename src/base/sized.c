#include "base/sized.h"

#include <string.h>

static uint32_t size_of(const void *sized)
{
    uint32_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

static bool is_size(uint32_t size)
{
    return size >= TN_SIZED_LEAST && size <= TN_SIZED_MOST && size % 4 == 0;
}

/* Every struct has its size first. */
static void copy(void *to, uint32_t to_size, const void *from, size_t from_size)
{
    const size_t known = to_size < from_size ? to_size : from_size;
    memcpy(to, from, known);
    memset((char *)to + known, 0, to_size - known);
    memcpy(to, &to_size, sizeof to_size);
}

static tenon_status refuse_size(const char *operation, uint32_t given, size_t size,
                                const char *initialiser)
{
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: params: struct_size is %u, must be the size of the struct, here %zu%s%s",
                   operation, given, size, initialiser != NULL ? "; start from " : "",
                   initialiser != NULL ? initialiser : "");
}

tenon_status tn_params_take(const char *operation, const void *given, const void *defaults,
                            size_t size, const char *initialiser, void *room, const void **params)
{
    *params = given != NULL ? given : defaults;
    const uint32_t given_size = size_of(*params);
    if (given_size == size)
        return TENON_OK;
    if (!is_size(given_size))
        return refuse_size(operation, given_size, size, initialiser);
    const char *bytes = *params;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: params: struct_size is %u, and byte %zu is not 0: this version of "
                           "the library knows %zu bytes",
                           operation, given_size, i, size);
    memcpy(room, defaults, size);
    memcpy(room, bytes, given_size < size ? given_size : size);
    memcpy(room, &(uint32_t){(uint32_t)size}, sizeof(uint32_t));
    *params = room;
    return TENON_OK;
}

void tn_params_give(void *params, uint32_t given_size, const void *defaults, size_t size)
{
    if (params != NULL && given_size >= sizeof given_size)
        copy(params, given_size, defaults, size);
}

tenon_status tn_sized_check(const char *operation, const char *argument, const void *out)
{
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", operation, argument);
    if (!is_size(size_of(out)))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: struct_size is %u, must be the size of the struct", operation,
                       argument, size_of(out));
    return TENON_OK;
}

void tn_sized_fill(void *out, const void *made, size_t size)
{
    copy(out, size_of(out), made, size);
}
