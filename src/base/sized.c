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
    return size >= TN_SIZED_MIN && size <= TN_SIZED_MAX && size % 4 == 0;
}

/* Copies a struct whose first member is its size. */
static void copy(void *to, uint32_t to_size, const void *from, size_t from_size)
{
    const size_t known = to_size < from_size ? to_size : from_size;
    memcpy(to, from, known);
    memset((char *)to + known, 0, to_size - known);
    memcpy(to, &to_size, sizeof to_size);
}

static tenon_status refuse_size(const char *caller, uint32_t given, size_t size,
                                const char *initializer)
{
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: params: struct_size is %u, must be the size of the struct, here %zu%s%s",
                   caller, given, size, initializer != NULL ? "; start from " : "",
                   initializer != NULL ? initializer : "");
}

static void set_size(void *sized, size_t size)
{
    memcpy(sized, &(uint32_t){(uint32_t)size}, sizeof(uint32_t));
}

/* Fills `room` with the defaults, then the caller's first `known` bytes. The caller's other bytes
 * must be 0. */
static tenon_status fill_room(const char *caller, const char *given, size_t known,
                              const void *defaults, size_t size, void *room)
{
    const uint32_t given_size = size_of(given);
    for (size_t i = known; i < given_size; i++)
        if (given[i] != 0)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: params: struct_size is %u, and byte %zu is not 0: this version of "
                           "the library knows %zu bytes",
                           caller, given_size, i, known);
    memcpy(room, defaults, size);
    memcpy(room, given, known);
    set_size(room, size);
    return TENON_OK;
}

tenon_status tn_params_take(const char *caller, const void *given, const void *defaults,
                            size_t size, const char *initializer, void *room, const void **params)
{
    *params = given != NULL ? given : defaults;
    const uint32_t given_size = size_of(*params);
    if (given_size == size)
        return TENON_OK;
    if (!is_size(given_size))
        return refuse_size(caller, given_size, size, initializer);
    TN_TRY(fill_room(caller, *params, given_size < size ? given_size : size, defaults, size, room));
    *params = room;
    return TENON_OK;
}

/* Reads the size of the last member, which must fit in the `available` bytes of the caller's
 * struct. */
static tenon_status take_member_size(const char *caller, const char *given, size_t available,
                                     size_t known, const tn_last_member *last, uint32_t *size)
{
    *size = available >= sizeof *size ? size_of(given + last->offset) : 0;
    if (!is_size(*size))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: %s: struct_size is %u, must be the size of the struct, here "
                       "%zu; start from %s",
                       caller, last->name, *size, known, last->initializer);
    if (*size > available)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: %s: struct_size is %u, but params end %zu bytes after it "
                       "begins: their struct_size is %u",
                       caller, last->name, *size, available, size_of(given));
    return TENON_OK;
}

tenon_status tn_params_take_with(const char *caller, const void *given, const void *defaults,
                                 size_t size, const char *initializer, const tn_last_member *last,
                                 void *room, const void **params)
{
    const char *bytes = given != NULL ? given : defaults;
    const uint32_t given_size = size_of(bytes);
    uint32_t member_size;
    if (!is_size(given_size) || given_size <= last->offset)
        return tn_params_take(caller, bytes, defaults, size, initializer, room, params);
    *params = bytes;
    TN_TRY(take_member_size(caller, bytes, given_size - last->offset, size - last->offset, last,
                            &member_size));
    if (given_size == size && member_size == size - last->offset)
        return TENON_OK;
    const size_t end = last->offset + member_size;
    TN_TRY(fill_room(caller, bytes, end < size ? end : size, defaults, size, room));
    set_size((char *)room + last->offset, size - last->offset);
    *params = room;
    return TENON_OK;
}

void tn_params_give(void *params, uint32_t given_size, const void *defaults, size_t size)
{
    if (params != NULL && given_size >= sizeof given_size)
        copy(params, given_size, defaults, size);
}

void tn_params_give_with(void *params, uint32_t given_size, const void *defaults, size_t size,
                         size_t last)
{
    tn_params_give(params, given_size, defaults, size);
    if (params != NULL && given_size >= last + sizeof given_size)
        set_size((char *)params + last, given_size - last);
}

tenon_status tn_sized_check(const char *caller, const char *argument, const void *out)
{
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller, argument);
    if (!is_size(size_of(out)))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: struct_size is %u, must be the size of the struct", caller,
                       argument, size_of(out));
    return TENON_OK;
}

void tn_sized_fill(void *out, const void *made, size_t size)
{
    copy(out, size_of(out), made, size);
}
