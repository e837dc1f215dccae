#include "common/temporary.h"
#include "common/restart.h"
#include "common/testing.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE    4096
#define MOST_FOLDERS 64

const char *temporary_path(const char *folder, const char *name)
{
    static char paths[4][PATH_SIZE];
    static unsigned number;
    char *path = paths[number++ % 4];
    assert_true(snprintf(path, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE);
    return path;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void remove_all(const char *folder)
{
    char path[PATH_SIZE];
    struct stat is;
    DIR *open_folder = opendir(folder);
    for (const struct dirent *at; open_folder != NULL && (at = readdir(open_folder)) != NULL;) {
        if (is_dots(at->d_name) ||
            snprintf(path, sizeof path, "%s/%s", folder, at->d_name) >= PATH_SIZE)
            continue;
        if (lstat(path, &is) == 0 && S_ISDIR(is.st_mode))
            remove_all(path);
        else
            unlink(path);
    }
    if (open_folder != NULL)
        closedir(open_folder);
    rmdir(folder);
}

/* Folders that no test has removed yet. They belong to the process that created them, not to its
 * forks. */
static struct {
    char *paths[MOST_FOLDERS];
    pid_t process;
} made;

static void remove_left(void)
{
    for (size_t i = 0; made.process == getpid() && i < MOST_FOLDERS; i++)
        if (made.paths[i] != NULL)
            temporary_remove(made.paths[i]);
}

/* Registers a folder for removal. Folders beyond MOST_FOLDERS are not registered and remain if
 * their test fails. */
static void count_folder(char *path)
{
    if (made.process == 0) {
        made.process = getpid();
        test_before_restart(remove_left);
        atexit(remove_left);
    }
    for (size_t i = 0; i < MOST_FOLDERS; i++)
        if (made.paths[i] == NULL) {
            made.paths[i] = path;
            return;
        }
}

char *temporary_make(void)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/tenon-test-XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(path));
    char *kept = strdup(path);
    assert_non_null(kept);
    count_folder(kept);
    return kept;
}

void temporary_remove(char *folder)
{
    for (size_t i = 0; i < MOST_FOLDERS; i++)
        if (made.paths[i] == folder)
            made.paths[i] = NULL;
    remove_all(folder);
    free(folder);
}

/* Counts the entries whose names contain `part`, and copies the alphabetically first name. */
static int look(const char *folder, const char *part, char name[256])
{
    int count = 0;
    DIR *open_folder = opendir(folder);
    for (const struct dirent *at; open_folder != NULL && (at = readdir(open_folder)) != NULL;) {
        if (is_dots(at->d_name) || strstr(at->d_name, part) == NULL)
            continue;
        if (count++ == 0 || strcmp(at->d_name, name) < 0)
            snprintf(name, 256, "%s", at->d_name);
    }
    if (open_folder != NULL)
        closedir(open_folder);
    return count;
}

int temporary_count(const char *folder, const char *part)
{
    char name[256];
    return look(folder, part, name);
}

bool temporary_find(const char *folder, const char *part, char name[256])
{
    return look(folder, part, name) > 0;
}

unsigned char *temporary_read(const char *path, size_t *size)
{
    struct stat is;
    assert_int_equal(stat(path, &is), 0);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *bytes = malloc((size_t)is.st_size + 1);
    assert_non_null(bytes);
    *size = fread(bytes, 1, (size_t)is.st_size, file);
    assert_int_equal(*size, is.st_size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

void temporary_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

bool temporary_has(const char *path, const void *bytes, size_t size)
{
    size_t file_size;
    unsigned char *file = temporary_read(path, &file_size);
    const bool same = file_size == size && memcmp(file, bytes, size) == 0;
    free(file);
    return same;
}
