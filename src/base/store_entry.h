/* Serialization of store entries. */
#ifndef TN_BASE_STORE_ENTRY_H
#define TN_BASE_STORE_ENTRY_H

#include "base/store.h"

#include <stdint.h>

#define TN_ENTRY_MAX_SIZE (UINT64_C(1) << 30) /* maximum size of an entry in bytes */

/* The parts of an entry; the pointers refer to its bytes. */
typedef struct tn_entry {
    tn_store_kind kind;
    const char *key; /* terminated by 0 */
    const unsigned char *data;
    size_t data_size;
} tn_entry;

/* Serializes an entry. The caller frees the result. Returns NULL if memory is short or the entry
 * exceeds TN_ENTRY_MAX_SIZE. */
unsigned char *tn_entry_make(tn_store_kind kind, const char *key, const void *data,
                             size_t data_size, size_t *size);

/* Parses any bytes. Returns false if they are not an entry, or a truncated or altered one. */
bool tn_entry_read(const unsigned char *bytes, size_t size, tn_entry *entry);

#endif
