#include "edit_ptx.h"

#include "command.h"
#include "runtime/program/ptx_edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a whole file, which the caller frees. Sets errno and returns NULL on failure. */
static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t room = 0, count = 1;
    *size = 0;
    while (file != NULL && count > 0) {
        char *more = realloc(bytes, room = 2 * room + 65536);
        if (more == NULL)
            break;
        bytes = more;
        count = fread(bytes + *size, 1, room - *size, file);
        *size += count;
    }
    const bool is_read = file != NULL && count == 0 && ferror(file) == 0;
    if (file != NULL)
        fclose(file);
    if (!is_read)
        free(bytes);
    return is_read ? bytes : NULL;
}

int edit_ptx(const char *path, const char *options)
{
    tn_ptx_edit wanted;
    const char *why = NULL;
    size_t size, edited_size = 0;
    char *ptx = read_file(path, &size), *edited = NULL;
    tn_ptx_wanted(options, &wanted);
    if (ptx != NULL)
        edited = tn_ptx_edited(ptx, size, &wanted, &edited_size, &why);
    const bool is_written = edited != NULL && fwrite(edited, 1, edited_size, stdout) == edited_size;
    if (!is_written)
        fprintf(stderr, "tenon kernels: %s: %s\n", path, why != NULL ? why : strerror(errno));
    free(ptx);
    free(edited);
    return is_written ? EXIT_OK : EXIT_FAILED;
}
