/* Tests the store's folder: its location, permissions and cleanup. */
#include "common/temporary.h"
#include "common/testing.h"

#include "base/process.h"
#include "base/store_entry.h"
#include "base/store_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAY (24 * 60 * 60)

static char why[256];

/* Sets the variables in this order (NULL: unset) and checks the resulting folder. */
static void assert_usual(const char *off, const char *own, const char *cache, const char *home,
                         const char *expected)
{
    const char *const names[] = {"TENON_CACHE", "TENON_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    const char *const values[] = {off, own, cache, home};
    for (int i = 0; i < 4; i++)
        assert_int_equal(values[i] != NULL ? setenv(names[i], values[i], 1) : unsetenv(names[i]),
                         0);
    char *folder = tn_folder_usual();
    if (expected == NULL)
        assert_null(folder);
    else
        assert_string_equal(folder, expected);
    free(folder);
}

TEST(the_environment_selects_the_folder)
{
    assert_usual(NULL, "/own", "/cache", "/home/me", "/own");
    assert_usual("1", "/own", "/cache", "/home/me", "/own");
    assert_usual("0", "/own", "/cache", "/home/me", NULL);
    assert_usual(NULL, "", "/cache", "/home/me", "/cache/tenon");
    assert_usual(NULL, NULL, "/cache", "/home/me", "/cache/tenon");
    assert_usual(NULL, NULL, "", "/home/me", "/home/me/.cache/tenon");
    assert_usual(NULL, NULL, NULL, "/home/me", "/home/me/.cache/tenon");
    /* The XDG standard requires relative paths to be ignored. */
    assert_usual(NULL, NULL, "cache", "/home/me", "/home/me/.cache/tenon");
    assert_usual(NULL, NULL, NULL, "", NULL);
    assert_usual(NULL, NULL, NULL, NULL, NULL);
}

static int mode_of(const char *path)
{
    struct stat is;
    assert_int_equal(stat(path, &is), 0);
    return (int)(is.st_mode & 0777);
}

TEST(created_folders_are_private)
{
    char *parent = temporary_make();
    const char *folder = temporary_path(parent, "a//b/c/");
    const mode_t mask = umask(0);
    assert_null(tn_folder_make(folder, why));
    assert_null(tn_folder_make(folder, why));
    umask(mask);
    assert_int_equal(mode_of(folder), 0700);
    assert_int_equal(mode_of(temporary_path(parent, "a")), 0700);
    temporary_remove(parent);
}

static void assert_unusable(const char *folder, const char *reason)
{
    why[0] = '\0';
    const char *given = tn_folder_make(folder, why);
    assert_ptr_equal(given, why);
    assert_contains(why, reason);
}

TEST(folders_writable_by_others_are_refused)
{
    char *folder = temporary_make();
    static const mode_t wrong[] = {0720, 0702, 0770, 0777, 01777}, right[] = {0700, 0755, 0500};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(chmod(folder, wrong[i]), 0);
        assert_unusable(folder, "other users can write to it");
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(chmod(folder, right[i]), 0);
        assert_null(tn_folder_make(folder, why));
    }
    assert_int_equal(chmod(folder, 0700), 0);
    /* root in a container may be unable to use that user ID. */
    if (geteuid() == 0 && chown(folder, 12345, (gid_t)-1) == 0) {
        assert_unusable(folder, "it belongs to another user");
        assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
    }
    temporary_remove(folder);
}

TEST(paths_that_cannot_be_folders_are_refused)
{
    char *parent = temporary_make(), *path = malloc(5000);
    temporary_write(temporary_path(parent, "file"), "x", 1);
    assert_unusable(temporary_path(parent, "file"), "it is not a directory");
    assert_unusable(temporary_path(parent, "file/below"), "it cannot be created");
    assert_int_equal(symlink("/nonexistent/place", temporary_path(parent, "link")), 0);
    assert_unusable(temporary_path(parent, "link"), "it cannot be read");
    assert_unusable("/proc/nothing/here", "it cannot be created");
    memset(path, 'x', 4999);
    path[0] = '/';
    path[4999] = '\0';
    assert_unusable(path, "its path is too long");
    free(path);
    temporary_remove(parent);
}

static void set_age(const char *folder, const char *name, int64_t seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - (time_t)seconds};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, temporary_path(folder, name), times, 0), 0);
}

static void name_of(int number, char name[TN_STORE_NAME_SIZE])
{
    char key[32];
    snprintf(key, sizeof key, "key %d", number);
    tn_store_name(TN_STORE_TRIAL, key, name);
}

/* Writes twenty entries of 1000 bytes; entry i was last used i days ago. */
static void fill(const char *folder)
{
    unsigned char bytes[1000] = {0};
    for (int i = 0; i < 20; i++) {
        char name[TN_STORE_NAME_SIZE];
        name_of(i, name);
        assert_null(tn_folder_write(folder, name, bytes, sizeof bytes, why));
        set_age(folder, name, i * (int64_t)DAY + DAY / 2);
    }
}

static bool is_there(const char *folder, int number)
{
    char name[TN_STORE_NAME_SIZE];
    name_of(number, name);
    return tn_folder_has(folder, name);
}

TEST(the_least_recently_used_entries_are_removed_first)
{
    char *folder = temporary_make();
    fill(folder);
    temporary_write(temporary_path(folder, "README"), "not the store's", 15);
    tn_folder_trim(folder, 20000);
    assert_int_equal(temporary_count(folder, ".trial"), 20);
    tn_folder_trim(folder, 12999);
    for (int i = 0; i < 20; i++)
        assert_int_equal(is_there(folder, i), i < 12);
    assert_int_equal(temporary_count(folder, "README"), 1);
    tn_folder_trim(folder, 0);
    assert_int_equal(temporary_count(folder, ".trial"), 0);
    temporary_remove(folder);
}

TEST(only_use_updates_the_time)
{
    char *folder = temporary_make();
    char used[TN_STORE_NAME_SIZE], seen[TN_STORE_NAME_SIZE];
    size_t size;
    fill(folder);
    name_of(19, used);
    name_of(18, seen);
    free(tn_folder_use(folder, used, &size));
    assert_int_equal(size, 1000);
    free(tn_folder_read(folder, seen, &size));
    assert_int_equal(size, 1000);
    tn_folder_trim(folder, 5000);
    assert_true(is_there(folder, 19));
    assert_false(is_there(folder, 18));
    assert_int_equal(temporary_count(folder, ".trial"), 5);
    temporary_remove(folder);
}

static void make_temporary(const char *folder, const char *process, int64_t age)
{
    char name[128];
    snprintf(name, sizeof name, ".writing-%s-abcdef", process);
    temporary_write(temporary_path(folder, name), "part", 4);
    set_age(folder, name, age);
}

/* Returns the name of a process that has ended. */
static void name_ended(char name[TN_PROCESS_SIZE])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        tn_process_name(name);
        _exit(write(ends[1], name, TN_PROCESS_SIZE) != TN_PROCESS_SIZE);
    }
    assert_int_equal(read(ends[0], name, TN_PROCESS_SIZE), TN_PROCESS_SIZE);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
}

TEST(temporaries_of_ended_writers_are_removed)
{
    char *folder = temporary_make();
    char ended[TN_PROCESS_SIZE], own[TN_PROCESS_SIZE];
    name_ended(ended);
    tn_process_name(own);
    make_temporary(folder, ended, 0);
    make_temporary(folder, own, 3 * DAY);
    make_temporary(folder, "ffffffff.17.1", DAY / 2);
    make_temporary(folder, "ffffffff.18.1", 2 * DAY);
    make_temporary(folder, "nonsense", 2 * DAY);
    temporary_write(temporary_path(folder, ".writing-"), "", 0);
    fill(folder);
    tn_folder_sweep(folder);
    assert_int_equal(temporary_count(folder, ended), 0);
    assert_int_equal(temporary_count(folder, own), 1);
    assert_int_equal(temporary_count(folder, "ffffffff.17.1"), 1);
    assert_int_equal(temporary_count(folder, "ffffffff.18.1"), 0);
    assert_int_equal(temporary_count(folder, "nonsense"), 0);
    assert_int_equal(temporary_count(folder, ".trial"), 20);
    temporary_remove(folder);
}

/* Neither symbolic links, which could lead out of the folder, nor pipes, which would block, are
 * read. */
TEST(only_regular_files_are_read)
{
    char *folder = temporary_make();
    char name[TN_STORE_NAME_SIZE];
    size_t size;
    name_of(0, name);
    const char *path = temporary_path(folder, name);
    assert_null(tn_folder_read(folder, name, &size));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(tn_folder_read(folder, name, &size));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_null(tn_folder_read(folder, name, &size));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_null(tn_folder_read(folder, name, &size));
    assert_non_null(tn_folder_write(folder, name, "x", 1, why));
    assert_contains(why, "it cannot be written");
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
    temporary_remove(folder);
}
