/* Files and folders for Windows. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif

#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#include <sys/utime.h>
#include <time.h>
#include <windows.h>

#define PATH_SIZE 4096

static int error_of(DWORD error)
{
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
        return EACCES;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        return ENOSPC;
    default:
        return EIO;
    }
}

/* Never sets is_foreign and is_open_to_others: the cache folder is inside the user's profile, which
 * other users cannot access. */
static tn_file_facts facts_of(const struct __stat64 *is)
{
    return (tn_file_facts){.is_folder = (is->st_mode & _S_IFMT) == _S_IFDIR,
                           .is_file = (is->st_mode & _S_IFMT) == _S_IFREG,
                           .size = (uint64_t)is->st_size,
                           .modified = (int64_t)is->st_mtime};
}

int tn_file_look(const char *path, tn_file_facts *facts)
{
    struct __stat64 is;
    if (_stat64(path, &is) != 0)
        return errno;
    *facts = facts_of(&is);
    return 0;
}

bool tn_file_is_readable(const char *path)
{
    return _access(path, 4) == 0;
}

FILE *tn_file_open(const char *path, tn_file_facts *facts)
{
    struct __stat64 is;
    const int number = _open(path, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    if (number < 0)
        return NULL;
    FILE *file = _fstat64(number, &is) == 0 ? _fdopen(number, "rb") : NULL;
    if (file == NULL)
        _close(number);
    else
        *facts = facts_of(&is);
    return file;
}

/* Windows resolves links when it opens a file. */
FILE *tn_file_open_linked(const char *path, tn_file_facts *facts)
{
    return tn_file_open(path, facts);
}

int tn_file_seek(FILE *file, uint64_t place)
{
    if (place > INT64_MAX)
        return EINVAL;
    return _fseeki64(file, (int64_t)place, SEEK_SET) == 0 ? 0 : errno;
}

int tn_file_sync(FILE *file)
{
    errno = 0;
    const bool well = fflush(file) == 0 && _commit(_fileno(file)) == 0;
    return well ? 0 : errno != 0 ? errno : EIO;
}

/* Does nothing: Windows writes the names of folders itself. */
void tn_folder_sync(const char *path)
{
    (void)path;
}

void tn_file_touch(const char *path)
{
    (void)_utime64(path, NULL);
}

int tn_file_append(const char *path, const void *bytes, size_t size)
{
    DWORD written = 0;
    const HANDLE file = CreateFileA(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                    NULL, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return error_of(GetLastError());
    int error = 0;
    if (!WriteFile(file, bytes, (DWORD)size, &written, NULL))
        error = error_of(GetLastError());
    else if (written != size)
        error = ENOSPC;
    CloseHandle(file);
    return error;
}

/* Replaces the last six letters by a number derived from the clock until the name is new. */
static int make_file(char *temporary)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *at = temporary + strlen(temporary) - 6;
    int file = -1;
    errno = EEXIST;
    for (int attempt = 0; file < 0 && errno == EEXIST && attempt < 100; attempt++) {
        uint64_t number = tn_now() ^ (uint64_t)GetCurrentThreadId() << 20;
        for (int i = 0; i < 6; i++, number /= 36)
            at[i] = letters[number % 36];
        file = _open(temporary, _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY | _O_NOINHERIT,
                     _S_IREAD | _S_IWRITE);
    }
    return file;
}

FILE *tn_file_begin(char *temporary)
{
    const int number = make_file(temporary);
    if (number < 0)
        return NULL;
    FILE *file = _fdopen(number, "wb");
    if (file != NULL)
        return file;
    const int error = errno;
    _close(number);
    remove(temporary);
    errno = error;
    return NULL;
}

int tn_file_keep(FILE *file, const char *temporary, const char *path, bool well, bool for_all)
{
    int error = well ? 0 : errno != 0 ? errno : EIO;
    (void)for_all; /* the folder's permissions apply */
    errno = 0;
    if (fclose(file) != 0 && error == 0)
        error = errno != 0 ? errno : EIO;
    if (error == 0 && MoveFileExA(temporary, path, MOVEFILE_REPLACE_EXISTING))
        return 0;
    error = error != 0 ? error : error_of(GetLastError());
    remove(temporary);
    return error;
}

int tn_file_lock(const char *path, intptr_t *lock)
{
    OVERLAPPED place = {0};
    const HANDLE file =
        CreateFileA(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                    OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return error_of(GetLastError());
    if (LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place)) {
        *lock = (intptr_t)file;
        return 0;
    }
    const DWORD error = GetLastError();
    CloseHandle(file);
    return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? EBUSY : error_of(error);
}

void tn_file_unlock(intptr_t lock)
{
    OVERLAPPED place = {0};
    UnlockFileEx((HANDLE)lock, 0, 1, 0, &place);
    CloseHandle((HANDLE)lock);
}

int tn_folder_create(const char *path, bool is_private)
{
    (void)is_private;
    return CreateDirectoryA(path, NULL)             ? 0
           : GetLastError() == ERROR_ALREADY_EXISTS ? EEXIST
                                                    : error_of(GetLastError());
}

bool tn_folder_visit(const char *folder, bool (*wants)(const char *name),
                     bool (*visit)(void *user, const char *name, const tn_file_facts *facts),
                     void *user)
{
    char path[PATH_SIZE];
    struct __finddata64_t found;
    bool goes_on = true;
    if (snprintf(path, sizeof path, "%s/*", folder) >= PATH_SIZE)
        return false;
    const intptr_t search = _findfirst64(path, &found);
    if (search == -1)
        return false;
    do {
        const tn_file_facts facts = {.is_file = (found.attrib & _A_SUBDIR) == 0,
                                     .size = (uint64_t)found.size,
                                     .modified = (int64_t)found.time_write};
        if (facts.is_file && wants(found.name))
            goes_on = visit(user, found.name, &facts);
    } while (goes_on && _findnext64(search, &found) == 0);
    _findclose(search);
    return goes_on;
}

const char tn_folder_of_caches_variables[] = "LOCALAPPDATA";

char *tn_folder_of_caches(void)
{
    const char *at = getenv("LOCALAPPDATA");
    return at != NULL && at[0] != '\0' ? tn_text_copy(at) : NULL;
}
