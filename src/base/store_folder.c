#include "base/store_folder.h"

#include "base/grow.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/store_entry.h"

#include <errno.h>
#include <time.h>

#define PATH_SIZE       4096
#define TEMPORARY       ".writing-"
#define DAY             (24 * 60 * 60)
#define ERROR_TEXT_SIZE 128

/* Writes "folder/name". Returns false if it is too long. */
static bool join(char path[PATH_SIZE], const char *folder, const char *name)
{
    return snprintf(path, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Returns "parent/name" and frees the parent. Returns NULL if the parent is NULL or memory is
 * short. */
static char *folder_below(char *parent, const char *name)
{
    const size_t size = parent != NULL ? strlen(parent) + strlen(name) + 2 : 0;
    char *folder = parent != NULL ? malloc(size) : NULL;
    if (folder != NULL)
        snprintf(folder, size, "%s/%s", parent, name);
    free(parent);
    return folder;
}

char *tn_folder_usual(void)
{
    const char *at, *off = variable("TENON_CACHE");
    if (off != NULL && strcmp(off, "0") == 0)
        return NULL;
    if ((at = variable("TENON_CACHE_DIR")) != NULL)
        return tn_text_copy(at);
    return folder_below(tn_folder_of_caches(), "tenon");
}

static const char *format_error(char why[256], const char *what, int error)
{
    char text[ERROR_TEXT_SIZE];
    tn_error_text(error, text, sizeof text);
    snprintf(why, 256, "%s: %s", what, text);
    return why;
}

const char *tn_folder_check(const char *folder, char why[256])
{
    tn_file_facts is;
    const int error = tn_file_look(folder, &is);
    if (error != 0)
        return format_error(why, "it cannot be read", error);
    if (!is.is_folder)
        return strcpy(why, "it is not a directory");
    if (is.is_foreign)
        return strcpy(why, "it belongs to another user");
    if (is.is_open_to_others)
        return strcpy(why, "other users can write to it");
    return NULL;
}

const char *tn_folder_make(const char *folder, char why[256])
{
    char path[PATH_SIZE];
    tn_file_facts is;
    if (snprintf(path, sizeof path, "%s", folder) >= PATH_SIZE)
        return strcpy(why, "its path is too long");
    for (char *end = path + 1; tn_file_look(folder, &is) != 0; end++) {
        end += strcspn(end, TN_SEPARATORS);
        const char separator = *end;
        *end = '\0';
        const int error = tn_file_look(path, &is) != 0 ? tn_folder_create(path, true) : 0;
        if (error != 0 && error != EEXIST)
            return format_error(why, "it cannot be created", error);
        if (separator == '\0')
            break;
        *end = separator;
    }
    return tn_folder_check(folder, why);
}

/* Updates a used file's time at most once a day, to avoid a write for each use. */
static unsigned char *read_file(const char *folder, const char *name, bool is_used, size_t *size)
{
    char path[PATH_SIZE];
    int64_t modified = 0;
    unsigned char *bytes =
        join(path, folder, name) ? tn_file_read(path, TN_ENTRY_MAX_SIZE, size, &modified) : NULL;
    if (bytes != NULL && is_used && time(NULL) - modified > DAY)
        tn_file_touch(path);
    return bytes;
}

unsigned char *tn_folder_read(const char *folder, const char *name, size_t *size)
{
    return read_file(folder, name, false, size);
}

unsigned char *tn_folder_use(const char *folder, const char *name, size_t *size)
{
    return read_file(folder, name, true, size);
}

bool tn_folder_has(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    tn_file_facts is;
    return join(path, folder, name) && tn_file_look(path, &is) == 0 && is.is_file &&
           tn_file_is_readable(path);
}

bool tn_folder_is_blocked(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    tn_file_facts is;
    return join(path, folder, name) && tn_file_look(path, &is) == 0 && is.is_folder;
}

const char *tn_folder_write(const char *folder, const char *name, const void *bytes, size_t size,
                            char why[256])
{
    char path[PATH_SIZE], temporary[PATH_SIZE], writer[TN_PROCESS_SIZE];
    tn_process_name(writer);
    if (!join(path, folder, name) ||
        snprintf(temporary, sizeof temporary, "%s/" TEMPORARY "%s-XXXXXX", folder, writer) >=
            PATH_SIZE)
        return strcpy(why, "its path is too long");
    FILE *file = tn_file_begin(temporary);
    if (file == NULL)
        return format_error(why, "no file can be created in it", errno);
    const bool written = fwrite(bytes, 1, size, file) == size;
    const int error = tn_file_keep(file, temporary, path, written, false);
    return error != 0 ? format_error(why, "it cannot be written", error) : NULL;
}

void tn_folder_remove(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    if (join(path, folder, name))
        remove(path);
}

static bool is_temporary(const char *name)
{
    return strncmp(name, TEMPORARY, sizeof TEMPORARY - 1) == 0;
}

static bool is_entry(const char *name)
{
    const size_t digits = strspn(name, "0123456789abcdef");
    if (digits != 32 || name[32] != '.')
        return false;
    for (int kind = 0; kind < TN_STORE_KINDS; kind++)
        if (strcmp(name + 33, tn_store_kind_name((tn_store_kind)kind)) == 0)
            return true;
    return false;
}

typedef struct entry_visit {
    tn_folder_visitor visit;
    void *user;
} entry_visit;

static bool visit_entry(void *user, const char *name, const tn_file_facts *facts)
{
    const entry_visit *v = user;
    return v->visit(v->user, name, facts->size, facts->modified);
}

bool tn_folder_each(const char *folder, tn_folder_visitor visit, void *user)
{
    entry_visit v = {visit, user};
    return tn_folder_visit(folder, is_entry, visit_entry, &v);
}

/* Removes a temporary file if its writer has ended. The state of a writer on another host is
 * unknown, so its file is kept for a day. */
static bool sweep_one(void *user, const char *name, const tn_file_facts *facts)
{
    char writer[TN_PROCESS_SIZE];
    snprintf(writer, sizeof writer, "%s", name + sizeof TEMPORARY - 1);
    char *end = strrchr(writer, '-');
    if (end != NULL)
        *end = '\0';
    const tn_process_state state = tn_process_look(writer);
    if (state == TN_PROCESS_ENDED ||
        (state == TN_PROCESS_ELSEWHERE && (int64_t)time(NULL) - facts->modified > DAY))
        tn_folder_remove((const char *)user, name);
    return true;
}

void tn_folder_sweep(const char *folder)
{
    tn_folder_visit(folder, is_temporary, sweep_one, (void *)folder);
}

typedef struct cached_file {
    char name[TN_STORE_NAME_SIZE];
    uint64_t size;
    int64_t used;
} cached_file;

typedef struct file_list {
    cached_file *files;
    uint32_t count, capacity;
    uint64_t bytes;
} file_list;

static bool add_file(void *user, const char *name, uint64_t size, int64_t used)
{
    file_list *list = user;
    if (!tn_grow(&list->files, list->count, &list->capacity, sizeof *list->files))
        return false;
    cached_file *file = &list->files[list->count++];
    *file = (cached_file){.size = size, .used = used};
    snprintf(file->name, sizeof file->name, "%s", name);
    list->bytes += size;
    return true;
}

static int compare_age(const void *a, const void *b)
{
    const int64_t x = ((const cached_file *)a)->used, y = ((const cached_file *)b)->used;
    return x < y ? -1 : x > y;
}

void tn_folder_trim(const char *folder, uint64_t limit)
{
    file_list list = {0};
    tn_folder_each(folder, add_file, &list);
    if (list.bytes > limit) {
        qsort(list.files, list.count, sizeof *list.files, compare_age);
        for (size_t i = 0; i < list.count && list.bytes > limit; i++) {
            tn_folder_remove(folder, list.files[i].name);
            list.bytes -= list.files[i].size;
        }
    }
    free(list.files);
}
