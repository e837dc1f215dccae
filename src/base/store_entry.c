#include "base/store_entry.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC   "TENONSTO"
#define VERSION 1

/* The header of an entry, before the key. An entry written with another byte order is rejected by
 * its version. */
typedef struct header {
    char magic[8];
    uint32_t version, kind;
    uint64_t key_size; /* including its terminating 0 */
    uint64_t data_size;
    uint64_t checksum[2]; /* of the fields above, the key and the data */
} header;

#define CHECKED offsetof(header, checksum)

static const char *const kind_names[TN_STORE_KINDS] = {
    [TN_STORE_PROGRAM] = "program", [TN_STORE_CHECK] = "check",
    [TN_STORE_TRIAL] = "trial",     [TN_STORE_RUNNING] = "running",
    [TN_STORE_TUNING] = "tuning",   [TN_STORE_CONSTANTS] = "constants",
};

const char *tn_store_kind_name(tn_store_kind kind)
{
    return kind_names[kind];
}

void tn_store_name(tn_store_kind kind, const char *key, char name[TN_STORE_NAME_SIZE])
{
    const XXH128_hash_t hash = XXH3_128bits(key, strlen(key));
    snprintf(name, TN_STORE_NAME_SIZE, "%016" PRIx64 "%016" PRIx64 ".%s", (uint64_t)hash.high64,
             (uint64_t)hash.low64, kind_names[kind]);
}

static void checksum(const unsigned char *bytes, size_t size, uint64_t sum[2])
{
    const XXH128_hash_t body = XXH3_128bits(bytes + sizeof(header), size - sizeof(header));
    const XXH128_hash_t all = XXH3_128bits_withSeed(bytes, CHECKED, body.low64);
    sum[0] = all.high64 ^ body.high64;
    sum[1] = all.low64;
}

unsigned char *tn_entry_make(tn_store_kind kind, const char *key, const void *data,
                             size_t data_size, size_t *size)
{
    header h = {.version = VERSION, .kind = kind, .data_size = data_size};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.key_size = strlen(key) + 1;
    *size = sizeof h + h.key_size + data_size;
    unsigned char *bytes =
        data_size < TN_ENTRY_MAX_SIZE && *size <= TN_ENTRY_MAX_SIZE ? malloc(*size) : NULL;
    if (bytes == NULL)
        return NULL;
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, key, h.key_size);
    if (data_size > 0)
        memcpy(bytes + sizeof h + h.key_size, data, data_size);
    checksum(bytes, *size, h.checksum);
    memcpy(bytes, &h, sizeof h);
    return bytes;
}

bool tn_entry_read(const unsigned char *bytes, size_t size, tn_entry *entry)
{
    header h;
    uint64_t sum[2];
    if (size < sizeof h || size > TN_ENTRY_MAX_SIZE)
        return false;
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0 || h.version != VERSION ||
        h.kind >= TN_STORE_KINDS || h.key_size == 0 || h.key_size > size || h.data_size > size ||
        sizeof h + h.key_size + h.data_size != size)
        return false;
    checksum(bytes, size, sum);
    const char *key = (const char *)bytes + sizeof h;
    if (sum[0] != h.checksum[0] || sum[1] != h.checksum[1] ||
        memchr(key, '\0', h.key_size) != key + h.key_size - 1)
        return false;
    *entry = (tn_entry){.kind = (tn_store_kind)h.kind,
                        .key = key,
                        .data = bytes + sizeof h + h.key_size,
                        .data_size = h.data_size};
    return true;
}
