/* Files and folders for POSIX. */
#define _POSIX_C_SOURCE  200809L
#define _DARWIN_C_SOURCE /* declares flock, which is not in POSIX */

#include "base/platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE 4096

static tn_file_facts facts_of(const struct stat *is)
{
    return (tn_file_facts){.is_folder = S_ISDIR(is->st_mode),
                           .is_file = S_ISREG(is->st_mode),
                           .is_foreign = is->st_uid != geteuid(),
                           .is_open_to_others = (is->st_mode & (S_IWGRP | S_IWOTH)) != 0,
                           .size = (uint64_t)is->st_size,
                           .modified = (int64_t)is->st_mtime};
}

int tn_file_look(const char *path, tn_file_facts *facts)
{
    struct stat is;
    if (stat(path, &is) != 0)
        return errno;
    *facts = facts_of(&is);
    return 0;
}

bool tn_file_is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

/* O_NONBLOCK: if the path is a pipe, open must not wait for a writer. */
static FILE *open_file(const char *path, int flags, tn_file_facts *facts)
{
    struct stat is;
    const int number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (number < 0)
        return NULL;
    FILE *file = fstat(number, &is) == 0 ? fdopen(number, "rb") : NULL;
    if (file == NULL) {
        const int error = errno;
        close(number);
        errno = error;
    } else {
        *facts = facts_of(&is);
    }
    return file;
}

FILE *tn_file_open(const char *path, tn_file_facts *facts)
{
    return open_file(path, O_NOFOLLOW, facts);
}

FILE *tn_file_open_linked(const char *path, tn_file_facts *facts)
{
    return open_file(path, 0, facts);
}

int tn_file_seek(FILE *file, uint64_t place)
{
    const off_t offset = (off_t)place;
    if (offset < 0 || (uint64_t)offset != place)
        return EOVERFLOW;
    return fseeko(file, offset, SEEK_SET) == 0 ? 0 : errno;
}

int tn_file_sync(FILE *file)
{
    errno = 0;
    const bool well = fflush(file) == 0 && fsync(fileno(file)) == 0;
    return well ? 0 : errno != 0 ? errno : EIO;
}

void tn_folder_sync(const char *path)
{
    const int folder = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (folder < 0)
        return;
    (void)fsync(folder);
    close(folder);
}

void tn_file_touch(const char *path)
{
    (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

int tn_file_append(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                          S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (file < 0)
        return errno;
    errno = ENOSPC;
    const int error = write(file, bytes, size) == (ssize_t)size ? 0 : errno;
    close(file);
    return error;
}

FILE *tn_file_begin(char *temporary)
{
    const int number = mkstemp(temporary);
    if (number < 0)
        return NULL;
    (void)fcntl(number, F_SETFD, FD_CLOEXEC);
    FILE *file = fdopen(number, "wb");
    if (file != NULL)
        return file;
    const int error = errno;
    close(number);
    unlink(temporary);
    errno = error;
    return NULL;
}

/* Sets the permissions that a newly created file has by default. */
static bool open_to_all(FILE *file)
{
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(fileno(file), 0666 & ~mask) == 0;
}

int tn_file_keep(FILE *file, const char *temporary, const char *path, bool well, bool for_all)
{
    if (well)
        errno = 0;
    well = well && (!for_all || open_to_all(file));
    int error = well ? 0 : errno != 0 ? errno : EIO;
    if (fclose(file) != 0 && error == 0)
        error = errno != 0 ? errno : EIO;
    if (error == 0 && rename(temporary, path) == 0)
        return 0;
    error = error != 0 ? error : errno;
    unlink(temporary);
    return error;
}

int tn_file_lock(const char *path, intptr_t *lock)
{
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (file < 0)
        return errno;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        *lock = file;
        return 0;
    }
    const int error = errno == EWOULDBLOCK ? EBUSY : errno;
    close(file);
    return error;
}

void tn_file_unlock(intptr_t lock)
{
    /* A forked child may still have the file open. */
    (void)flock((int)lock, LOCK_UN);
    close((int)lock);
}

int tn_folder_create(const char *path, bool is_private)
{
    return mkdir(path, is_private ? S_IRWXU : S_IRWXU | S_IRWXG | S_IRWXO) == 0 ? 0 : errno;
}

bool tn_folder_visit(const char *folder, bool (*wants)(const char *name),
                     bool (*visit)(void *user, const char *name, const tn_file_facts *facts),
                     void *user)
{
    char path[PATH_SIZE];
    struct stat is;
    bool goes_on = true;
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL)
        return false;
    for (const struct dirent *at; goes_on && (at = readdir(open_folder)) != NULL;) {
        if (!wants(at->d_name) ||
            snprintf(path, sizeof path, "%s/%s", folder, at->d_name) >= PATH_SIZE ||
            lstat(path, &is) != 0 || !S_ISREG(is.st_mode))
            continue;
        const tn_file_facts facts = facts_of(&is);
        goes_on = visit(user, at->d_name, &facts);
    }
    closedir(open_folder);
    return goes_on;
}

static char *below(const char *parent, const char *name)
{
    const size_t size = strlen(parent) + strlen(name) + 2;
    char *folder = malloc(size);
    if (folder != NULL)
        snprintf(folder, size, "%s/%s", parent, name);
    return folder;
}

const char tn_folder_of_caches_variables[] = "XDG_CACHE_HOME and HOME";

char *tn_folder_of_caches(void)
{
    const char *at = getenv("XDG_CACHE_HOME");
    if (at != NULL && at[0] == '/')
        return tn_text_copy(at);
    at = getenv("HOME");
    if (at == NULL || at[0] == '\0')
        return NULL;
#ifdef __APPLE__
    return below(at, "Library/Caches");
#else
    return below(at, ".cache");
#endif
}
