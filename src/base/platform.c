/* Parts of the platform layer that all systems share. */
#include "base/platform.h"

unsigned char *tn_file_read(const char *path, uint64_t most, size_t *size, int64_t *modified)
{
    tn_file_facts is;
    FILE *file = tn_file_open(path, &is);
    if (file == NULL)
        return NULL;
    const bool wanted = is.is_file && is.size <= most && is.size < SIZE_MAX;
    unsigned char *bytes = wanted ? malloc((size_t)is.size + 1) : NULL;
    if (bytes != NULL && fread(bytes, 1, (size_t)is.size, file) != is.size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    if (bytes != NULL) {
        *size = (size_t)is.size;
        *modified = is.modified;
    }
    return bytes;
}
