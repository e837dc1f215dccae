#include "cache_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "tenon cache 1\n"
#define LINE_SIZE  160
#define CHUNK      ((size_t)1 << 20)

bool cache_file_begin(FILE *file)
{
    return fputs(FIRST_LINE, file) >= 0;
}

bool cache_file_add(FILE *file, const char *name, const unsigned char *bytes, size_t size)
{
    return fprintf(file, "%s %zu %016" PRIx64 "\n", name, size,
                   (uint64_t)XXH3_64bits(bytes, size)) > 0 &&
           fwrite(bytes, 1, size, file) == size;
}

bool cache_file_end(FILE *file, unsigned long long count)
{
    return fprintf(file, "end %llu\n", count) > 0;
}

static bool find_fault(char fault[CACHE_FAULT_SIZE], const char *name, const char *what)
{
    snprintf(fault, CACHE_FAULT_SIZE, "%s: %s", name, what);
    return false;
}

/* As many bytes as a line says, which may say anything: room is made as they come. */
static unsigned char *read_bytes(FILE *file, size_t size)
{
    unsigned char *bytes = NULL;
    size_t got = 0;
    do {
        const size_t part = size - got < CHUNK ? size - got : CHUNK;
        unsigned char *more = realloc(bytes, got + part + 1);
        if (more == NULL || fread(more + got, 1, part, file) != part) {
            free(more != NULL ? more : bytes);
            return NULL;
        }
        bytes = more;
        got += part;
    } while (got < size);
    return bytes;
}

/* What was written under its name is an entry, and that name is of its key. */
static bool verify(cache_item *item, uint64_t checksum, char fault[CACHE_FAULT_SIZE])
{
    char name[TN_STORE_NAME_SIZE];
    if ((uint64_t)XXH3_64bits(item->bytes, item->size) != checksum)
        return find_fault(fault, item->name, "its bytes have another checksum than its line says");
    if (!tn_entry_read(item->bytes, item->size, &item->entry))
        return find_fault(fault, item->name, "its bytes are no entry of a store");
    tn_store_name(item->entry.kind, item->entry.key, name);
    if (strcmp(name, item->name) == 0)
        return true;
    snprintf(fault, CACHE_FAULT_SIZE, "%s: its name must be %s, by its key", item->name, name);
    return false;
}

static bool take(FILE *file, const char *name, size_t size, uint64_t checksum, cache_visitor visit,
                 void *user, bool *goes_on, char fault[CACHE_FAULT_SIZE])
{
    unsigned char *bytes = read_bytes(file, size);
    if (bytes == NULL)
        return find_fault(fault, name, "the file ends within its bytes");
    cache_item item = {.name = name, .bytes = bytes, .size = size};
    const bool is_right = verify(&item, checksum, fault);
    *goes_on = is_right && visit(user, &item);
    free(bytes);
    return is_right;
}

static bool read_end(FILE *file, unsigned long long told, unsigned long long count,
                     char fault[CACHE_FAULT_SIZE])
{
    if (told == count && getc(file) == EOF)
        return true;
    snprintf(fault, CACHE_FAULT_SIZE,
             told != count ? "it has %llu entries, must have %llu"
                           : "there is more behind its %llu entries",
             count, told);
    return false;
}

bool cache_file_read(FILE *file, cache_visitor visit, void *user, char fault[CACHE_FAULT_SIZE])
{
    char line[LINE_SIZE], name[TN_STORE_NAME_SIZE];
    unsigned long long count = 0, told;
    uint64_t size, checksum;
    bool goes_on = true;
    if (fgets(line, sizeof line, file) == NULL || strcmp(line, FIRST_LINE) != 0)
        return find_fault(fault, "its first line", "it is not \"tenon cache 1\"");
    for (; goes_on; count++) {
        int length = 0;
        if (fgets(line, sizeof line, file) == NULL)
            return find_fault(fault, "its last line", "it is missing");
        if (sscanf(line, "end %llu%n", &told, &length) == 1 && strcmp(line + length, "\n") == 0)
            return read_end(file, told, count, fault);
        length = 0;
        if (sscanf(line, "%63[0-9a-z.] %" SCNu64 " %16" SCNx64 "%n", name, &size, &checksum,
                   &length) != 3 ||
            strcmp(line + length, "\n") != 0 || size == 0 || size > TN_ENTRY_MOST) {
            snprintf(fault, CACHE_FAULT_SIZE,
                     "the line of entry %llu is not \"NAME SIZE CHECKSUM\"", count + 1);
            return false;
        }
        if (!take(file, name, (size_t)size, checksum, visit, user, &goes_on, fault))
            return false;
    }
    return true;
}
