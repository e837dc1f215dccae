#include "base/store_folder.h"

#include "base/process.h"
#include "base/store_entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE     4096
#define TEMPORARY     ".writing-"
#define DAY           (24 * 60 * 60)
#define NAME_OF_FAULT 128

/* "folder/name"; false where that is too long. */
static bool join(char path[PATH_SIZE], const char *folder, const char *name)
{
    return snprintf(path, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE;
}

static char *folder_below(const char *parent, const char *name)
{
    const size_t size = strlen(parent) + strlen(name) + 2;
    char *folder = malloc(size);
    if (folder != NULL)
        snprintf(folder, size, "%s/%s", parent, name);
    return folder;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

char *tn_folder_usual(void)
{
    const char *at, *off = variable("TENON_CACHE");
    if (off != NULL && strcmp(off, "0") == 0)
        return NULL;
    if ((at = variable("TENON_CACHE_DIR")) != NULL)
        return strdup(at);
    if ((at = variable("XDG_CACHE_HOME")) != NULL && at[0] == '/')
        return folder_below(at, "tenon");
    return (at = variable("HOME")) != NULL ? folder_below(at, ".cache/tenon") : NULL;
}

static const char *say(char why[256], const char *what, int error)
{
    char text[NAME_OF_FAULT];
    if (strerror_r(error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", error);
    snprintf(why, 256, "%s: %s", what, text);
    return why;
}

const char *tn_folder_refuse(const char *folder, char why[256])
{
    struct stat is;
    if (stat(folder, &is) != 0)
        return say(why, "it cannot be read", errno);
    if (!S_ISDIR(is.st_mode))
        return strcpy(why, "it is no folder");
    if (is.st_uid != geteuid())
        return strcpy(why, "it is another user's");
    if ((is.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return strcpy(why, "others may write into it");
    return NULL;
}

const char *tn_folder_make(const char *folder, char why[256])
{
    char path[PATH_SIZE];
    struct stat is;
    if (snprintf(path, sizeof path, "%s", folder) >= PATH_SIZE)
        return strcpy(why, "its path is too long");
    for (char *end = path + 1; stat(folder, &is) != 0; *end++ = '/') {
        end += strcspn(end, "/");
        const bool is_last = *end == '\0';
        *end = '\0';
        if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
            return say(why, "it cannot be made", errno);
        if (is_last)
            break;
    }
    return tn_folder_refuse(folder, why);
}

/* So that those which are used stay; once a day, since a write for each use would be waste. */
static void note_use(int file, const struct stat *is)
{
    if (time(NULL) - is->st_mtime > DAY)
        (void)futimens(file, NULL);
}

static unsigned char *read_open(int file, bool is_used, size_t *size)
{
    struct stat is;
    if (fstat(file, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size < 0 ||
        (uint64_t)is.st_size > TN_ENTRY_MOST)
        return NULL;
    unsigned char *bytes = malloc((size_t)is.st_size + 1);
    if (bytes == NULL)
        return NULL;
    for (*size = 0; *size < (size_t)is.st_size;) {
        const ssize_t got = read(file, bytes + *size, (size_t)is.st_size - *size);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            free(bytes);
            return NULL;
        }
        *size += got > 0 ? (size_t)got : 0;
    }
    if (is_used)
        note_use(file, &is);
    return bytes;
}

/* Without waiting for who should write into it, where somebody has put a pipe there. */
static unsigned char *read_file(const char *folder, const char *name, bool is_used, size_t *size)
{
    char path[PATH_SIZE];
    const int file =
        join(path, folder, name) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (file < 0)
        return NULL;
    unsigned char *bytes = read_open(file, is_used, size);
    close(file);
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
    return join(path, folder, name) && access(path, R_OK) == 0;
}

/* Writes, closes, and gives it its name. */
static bool finish(int file, const unsigned char *bytes, size_t size, const char *temporary,
                   const char *path)
{
    bool written = true;
    errno = 0;
    for (size_t done = 0; written && done < size;) {
        const ssize_t put = write(file, bytes + done, size - done);
        written = put > 0 || (put < 0 && errno == EINTR);
        done += put > 0 ? (size_t)put : 0;
    }
    int error = written ? 0 : errno != 0 ? errno : EIO;
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(temporary, path) == 0)
        return true;
    error = error != 0 ? error : errno;
    unlink(temporary);
    errno = error;
    return false;
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
    const int file = mkstemp(temporary);
    if (file < 0)
        return say(why, "no file can be made in it", errno);
    (void)fcntl(file, F_SETFD, FD_CLOEXEC);
    return finish(file, bytes, size, temporary, path) ? NULL
                                                      : say(why, "it cannot be written", errno);
}

void tn_folder_remove(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    if (join(path, folder, name))
        unlink(path);
}

/* The names in a folder that `wants` takes, and what is known of the files. */
static bool visit_files(const char *folder, bool (*wants)(const char *name),
                        tn_folder_visitor visit, void *user)
{
    char path[PATH_SIZE];
    struct stat is;
    bool goes_on = true;
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL)
        return false;
    for (const struct dirent *at; goes_on && (at = readdir(open_folder)) != NULL;)
        if (wants(at->d_name) && join(path, folder, at->d_name) && lstat(path, &is) == 0 &&
            S_ISREG(is.st_mode))
            goes_on = visit(user, at->d_name, (uint64_t)is.st_size, (int64_t)is.st_mtime);
    closedir(open_folder);
    return goes_on;
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

bool tn_folder_each(const char *folder, tn_folder_visitor visit, void *user)
{
    return visit_files(folder, is_entry, visit, user);
}

/* A writer of this host is known to be alive or not; one of another has a day. */
static bool sweep_one(void *user, const char *name, uint64_t size, int64_t used)
{
    char writer[TN_PROCESS_SIZE];
    (void)size;
    snprintf(writer, sizeof writer, "%s", name + sizeof TEMPORARY - 1);
    char *end = strrchr(writer, '-');
    if (end != NULL)
        *end = '\0';
    const tn_process_state state = tn_process_look(writer);
    if (state == TN_PROCESS_ENDED ||
        (state == TN_PROCESS_ELSEWHERE && (int64_t)time(NULL) - used > DAY))
        tn_folder_remove((const char *)user, name);
    return true;
}

void tn_folder_sweep(const char *folder)
{
    visit_files(folder, is_temporary, sweep_one, (void *)folder);
}

typedef struct aged {
    char name[TN_STORE_NAME_SIZE];
    uint64_t size;
    int64_t used;
} aged;

typedef struct aged_list {
    aged *files;
    size_t count, capacity;
    uint64_t bytes;
} aged_list;

static bool add_aged(void *user, const char *name, uint64_t size, int64_t used)
{
    aged_list *list = user;
    if (list->count == list->capacity) {
        const size_t capacity = 2 * list->capacity + 64;
        aged *files = realloc(list->files, capacity * sizeof *files);
        if (files == NULL)
            return false;
        list->files = files;
        list->capacity = capacity;
    }
    aged *file = &list->files[list->count++];
    *file = (aged){.size = size, .used = used};
    snprintf(file->name, sizeof file->name, "%s", name);
    list->bytes += size;
    return true;
}

static int compare_age(const void *a, const void *b)
{
    const int64_t x = ((const aged *)a)->used, y = ((const aged *)b)->used;
    return x < y ? -1 : x > y;
}

void tn_folder_trim(const char *folder, uint64_t limit)
{
    aged_list list = {0};
    tn_folder_each(folder, add_aged, &list);
    if (list.bytes > limit) {
        qsort(list.files, list.count, sizeof *list.files, compare_age);
        for (size_t i = 0; i < list.count && list.bytes > limit; i++) {
            tn_folder_remove(folder, list.files[i].name);
            list.bytes -= list.files[i].size;
        }
    }
    free(list.files);
}
