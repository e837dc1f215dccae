/* Arrays that grow. */
#ifndef TN_BASE_GROW_H
#define TN_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element of `size` bytes in an array. `pointer` is the address of the
 * array's pointer. Returns false if memory is short; the array is then unchanged. */
static inline bool tn_grow(void *pointer, uint32_t count, uint32_t *capacity, size_t size)
{
    const uint32_t more = 2 * *capacity + 16;
    void *array;
    if (count < *capacity)
        return true;
    memcpy(&array, pointer, sizeof array);
    array = realloc(array, more * size);
    if (array == NULL)
        return false;
    memcpy(pointer, &array, sizeof array);
    *capacity = more;
    return true;
}

#endif
