/* Entries of a store as bytes. */
#ifndef TN_BASE_STORE_ENTRY_H
#define TN_BASE_STORE_ENTRY_H

#include "base/store.h"

#include <stdint.h>

#define TN_ENTRY_MOST (UINT64_C(1) << 30) /* bytes of an entry that may be right */

/* What an entry is made of; the pointers are into it. */
typedef struct tn_entry {
    tn_store_kind kind;
    const char *key; /* terminated */
    const unsigned char *data;
    size_t data_size;
} tn_entry;

/* An entry as it is kept, which the caller frees; NULL without memory, or beyond TN_ENTRY_MOST. */
unsigned char *tn_entry_make(tn_store_kind kind, const char *key, const void *data,
                             size_t data_size, size_t *size);

/* Takes any bytes; false where they are no entry, or one that was cut or altered. */
bool tn_entry_read(const unsigned char *bytes, size_t size, tn_entry *entry);

#endif
