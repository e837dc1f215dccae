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

static void item_line(const char *name, uint64_t size, uint64_t checksum, char line[LINE_SIZE])
{
    snprintf(line, LINE_SIZE, "%s %" PRIu64 " %016" PRIx64 "\n", name, size, checksum);
}

bool cache_file_add(FILE *file, const char *name, const unsigned char *bytes, size_t size)
{
    char line[LINE_SIZE];
    item_line(name, size, XXH3_64bits(bytes, size), line);
    return fputs(line, file) >= 0 && fwrite(bytes, 1, size, file) == size;
}

static void end_line(unsigned long long count, char line[LINE_SIZE])
{
    snprintf(line, LINE_SIZE, "end %llu\n", count);
}

bool cache_file_end(FILE *file, unsigned long long count)
{
    char line[LINE_SIZE];
    end_line(count, line);
    return fputs(line, file) >= 0;
}

static bool find_fault(char fault[CACHE_FAULT_SIZE], const char *name, const char *what)
{
    snprintf(fault, CACHE_FAULT_SIZE, "%s: %s", name, what);
    return false;
}

/* Reads as many bytes as the line specifies. The line may contain any number, so memory grows as
 * bytes arrive. */
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

/* Checks that the bytes match the checksum and are an entry, and that its key gives this name. */
static bool verify(cache_item *item, uint64_t checksum, char fault[CACHE_FAULT_SIZE])
{
    char name[TN_STORE_NAME_SIZE];
    if ((uint64_t)XXH3_64bits(item->bytes, item->size) != checksum)
        return find_fault(fault, item->name, "the checksum of its bytes differs from its line");
    if (!tn_entry_read(item->bytes, item->size, &item->entry))
        return find_fault(fault, item->name, "its bytes are not a cache entry");
    tn_store_name(item->entry.kind, item->entry.key, name);
    if (strcmp(name, item->name) == 0)
        return true;
    snprintf(fault, CACHE_FAULT_SIZE, "%s: its key requires the name %s", item->name, name);
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
             told != count ? "it has %llu entries, expected %llu"
                           : "extra bytes follow its %llu entries",
             count, told);
    return false;
}

/* A line with the same meaning but different text has been altered. */
static bool read_end_line(const char *line, unsigned long long *count)
{
    char again[LINE_SIZE];
    if (sscanf(line, "end %llu", count) != 1)
        return false;
    end_line(*count, again);
    return strcmp(line, again) == 0;
}

static bool read_item_line(const char *line, char name[TN_STORE_NAME_SIZE], uint64_t *size,
                           uint64_t *checksum)
{
    char again[LINE_SIZE];
    if (sscanf(line, "%63[0-9a-z.] %" SCNu64 " %16" SCNx64, name, size, checksum) != 3)
        return false;
    item_line(name, *size, *checksum, again);
    return strcmp(line, again) == 0 && *size > 0 && *size <= TN_ENTRY_MAX_SIZE;
}

bool cache_file_read(FILE *file, cache_visitor visit, void *user, char fault[CACHE_FAULT_SIZE])
{
    char line[LINE_SIZE], name[TN_STORE_NAME_SIZE];
    unsigned long long count = 0, told;
    uint64_t size, checksum;
    bool goes_on = true;
    if (fgets(line, sizeof line, file) == NULL || strcmp(line, FIRST_LINE) != 0)
        return find_fault(fault, "its first line", "expected \"tenon cache 1\"");
    for (; goes_on; count++) {
        if (fgets(line, sizeof line, file) == NULL)
            return find_fault(fault, "its last line", "it is missing");
        if (read_end_line(line, &told))
            return read_end(file, told, count, fault);
        if (!read_item_line(line, name, &size, &checksum)) {
            snprintf(fault, CACHE_FAULT_SIZE,
                     "the line of entry %llu is not \"NAME SIZE CHECKSUM\"", count + 1);
            return false;
        }
        if (!take(file, name, (size_t)size, checksum, visit, user, &goes_on, fault))
            return false;
    }
    return true;
}
