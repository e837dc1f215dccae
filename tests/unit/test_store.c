/* Tests the store: what it stores and refuses, and that its failures do not make any call fail. */
#include "common/temporary.h"
#include "common/testing.h"

#include "base/platform.h"
#include "base/status.h"
#include "base/store_entry.h"
#include "base/store_folder.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int lines;
static char last_line[512];

static void hear(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    assert_int_equal(level, TENON_LOG_WARNING);
    atomic_fetch_add(&lines, 1);
    snprintf(last_line, sizeof last_line, "%s", message);
}

static const tn_log heard = {hear, NULL, TENON_LOG_DEBUG};

static tn_store *open_store(const tenon_store *where)
{
    tn_store *store;
    atomic_store(&lines, 0);
    assert_int_equal(tn_store_create("tenon_test", where, &heard, &store), TENON_OK);
    return store;
}

static tn_store *open_folder(const char *folder, uint64_t limit)
{
    return open_store(&(tenon_store){.kind = TENON_STORE_FOLDER, .folder = folder, .limit = limit});
}

static void put(tn_store *store, const char *key, const char *text)
{
    tn_store_put(store, TN_STORE_TRIAL, key, text, strlen(text));
}

static void assert_has(tn_store *store, const char *key, const char *text)
{
    size_t size = 0;
    char *got = tn_store_get(store, TN_STORE_TRIAL, key, &size);
    assert_int_equal(tn_store_has(store, TN_STORE_TRIAL, key), text != NULL);
    if (text == NULL) {
        assert_null(got);
        return;
    }
    assert_non_null(got);
    assert_int_equal(size, strlen(text));
    assert_string_equal(got, text);
    free(got);
}

static void assert_lines(int count, const char *part)
{
    assert_int_equal(atomic_load(&lines), count);
    if (count > 0)
        assert_contains(last_line, part);
    atomic_store(&lines, 0);
}

TEST(entries_are_stored_and_removed)
{
    char *folder = temporary_make();
    tn_store *store = open_folder(temporary_path(folder, "new/one"), 0);
    assert_string_equal(tn_store_folder(store), temporary_path(folder, "new/one"));
    assert_has(store, "a", NULL);
    put(store, "a", "1");
    put(store, "b", "");
    put(store, "a", "one");
    tn_store_put(store, TN_STORE_CHECK, "a", "another kind's", 14);
    assert_has(store, "a", "one");
    assert_has(store, "b", "");
    tn_store_remove(store, TN_STORE_TRIAL, "a");
    tn_store_remove(store, TN_STORE_TRIAL, "never there");
    assert_has(store, "a", NULL);
    assert_true(tn_store_has(store, TN_STORE_CHECK, "a"));
    tn_store_destroy(store);
    store = open_folder(temporary_path(folder, "new/one"), 0);
    assert_has(store, "b", "");
    assert_lines(0, "");
    tn_store_destroy(store);
    temporary_remove(folder);
}

TEST(a_disabled_store_keeps_nothing)
{
    size_t size;
    assert_null(open_store(&(tenon_store){.kind = TENON_STORE_NONE}));
    setenv("TENON_CACHE", "0", 1);
    assert_null(open_store(&(tenon_store){.kind = TENON_STORE_USUAL}));
    assert_null(tn_store_get(NULL, TN_STORE_CHECK, "a", &size));
    assert_false(tn_store_has(NULL, TN_STORE_CHECK, "a"));
    tn_store_put(NULL, TN_STORE_CHECK, "a", "1", 1);
    tn_store_remove(NULL, TN_STORE_CHECK, "a");
    assert_null(tn_store_folder(NULL));
    tn_store_destroy(NULL);
}

static size_t get_nothing(void *user, const char *name, void *data, size_t capacity)
{
    (void)user;
    (void)name;
    (void)data;
    (void)capacity;
    return 0;
}

static void set_nothing(void *user, const char *name, const void *data, size_t size)
{
    (void)user;
    (void)name;
    (void)data;
    (void)size;
}

static void assert_refusal(const tenon_store *where, const char *message)
{
    tn_store *store = (tn_store *)&lines;
    assert_int_equal(tn_store_create("tenon_test", where, &heard, &store),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_string_equal(tenon_last_error(), message);
    assert_null(store);
}

TEST(invalid_stores_are_refused)
{
    assert_refusal(&(tenon_store){.kind = 4},
                   "tenon_test: params: store.kind is 4, which is not a tenon_store_kind");
    assert_refusal(&(tenon_store){.reserved = 7},
                   "tenon_test: params: store.reserved is 7, must be 0");
    assert_refusal(&(tenon_store){.kind = TENON_STORE_FOLDER},
                   "tenon_test: params: store.folder is NULL");
    assert_refusal(&(tenon_store){.kind = TENON_STORE_FOLDER, .folder = ""},
                   "tenon_test: params: store.folder is empty");
    assert_refusal(&(tenon_store){.kind = TENON_STORE_FUNCTIONS, .set = set_nothing},
                   "tenon_test: params: store.get is NULL");
    assert_refusal(&(tenon_store){.kind = TENON_STORE_FUNCTIONS, .get = get_nothing},
                   "tenon_test: params: store.set is NULL");
}

/* Makes calls of every kind on a store that keeps nothing. */
static void use_in_vain(tn_store *store)
{
    for (int i = 0; i < 3; i++) {
        put(store, "a", "1");
        assert_has(store, "a", NULL);
        tn_store_remove(store, TN_STORE_TRIAL, "a");
    }
}

TEST(unusable_folders_are_reported_once)
{
    char *folder = temporary_make();
    assert_int_equal(chmod(folder, 0770), 0);
    tn_store *store = open_folder(folder, 0);
    use_in_vain(store);
    assert_lines(1, "other users can write to it");
    tn_store_destroy(store);
    assert_int_equal(chmod(folder, 0700), 0);
    temporary_write(temporary_path(folder, "file"), "", 0);
    store = open_folder(temporary_path(folder, "file"), 0);
    use_in_vain(store);
    assert_lines(1, "it is not a directory");
    tn_store_destroy(store);
    temporary_remove(folder);
}

TEST(a_removed_folder_is_reported_once)
{
    char *parent = temporary_make(), *folder = strdup(temporary_path(parent, "store"));
    tn_store *store = open_folder(folder, 0);
    char name[256];
    put(store, "a", "1");
    assert_has(store, "a", "1");
    assert_true(temporary_find(folder, ".trial", name));
    assert_int_equal(unlink(temporary_path(folder, name)), 0);
    assert_int_equal(rmdir(folder), 0);
    use_in_vain(store);
    assert_lines(1, "no file can be created in it");
    tn_store_destroy(store);
    free(folder);
    temporary_remove(parent);
}

/* Only one entry cannot be written; all others can. */
TEST(a_directory_named_like_an_entry_is_reported_once)
{
    char *folder = temporary_make(), name[256];
    tn_store *store = open_folder(folder, 0);
    put(store, "a", "1");
    assert_true(temporary_find(folder, ".trial", name));
    char *path = strdup(temporary_path(folder, name)), *inside = strdup(temporary_path(path, "x"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    temporary_write(inside, "", 0);
    for (int i = 0; i < 3; i++) {
        put(store, "a", "1");
        assert_has(store, "a", NULL);
        tn_store_remove(store, TN_STORE_TRIAL, "a");
    }
    assert_lines(1, "is a directory; remove it");
    put(store, "b", "2");
    assert_has(store, "b", "2");
    assert_lines(0, "");
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
    assert_int_equal(unlink(inside), 0);
    assert_int_equal(rmdir(path), 0);
    put(store, "a", "3");
    assert_has(store, "a", "3");
    tn_store_destroy(store);
    free(inside);
    free(path);
    temporary_remove(folder);
}

TEST(a_full_disk_is_reported_once)
{
    char *folder = temporary_make(), *large = calloc(1, 100000);
    struct rlimit usual, small;
    tn_store *store = open_folder(folder, 0);
    put(store, "small", "1");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = usual;
    small.rlim_cur = 50000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 3; i++)
        tn_store_put(store, TN_STORE_PROGRAM, "large", large, 100000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_lines(1, "it cannot be written");
    assert_false(tn_store_has(store, TN_STORE_PROGRAM, "large"));
    assert_has(store, "small", "1");
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
    tn_store_destroy(store);
    free(large);
    temporary_remove(folder);
}

TEST(altered_entries_are_reported_and_replaced)
{
    char *folder = temporary_make(), name[256];
    unsigned char *bytes;
    size_t size;
    tn_store *store = open_folder(folder, 0);
    put(store, "a", "1");
    assert_true(temporary_find(folder, ".trial", name));
    const char *path = temporary_path(folder, name);
    bytes = temporary_read(path, &size);
    for (int i = 0; i < 3; i++) {
        bytes[size - 1] ^= 4;
        temporary_write(path, bytes, i == 0 ? size - 1 : i == 1 ? size : 0);
        assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
        assert_lines(1, "is truncated or corrupted; it will be created again");
        assert_contains(last_line, name);
        assert_has(store, "a", NULL);
        put(store, "a", "1");
        assert_has(store, "a", "1");
        free(bytes);
        bytes = temporary_read(path, &size);
    }
    assert_lines(0, "");
    free(bytes);
    tn_store_destroy(store);
    temporary_remove(folder);
}

/* An intact entry under another entry's name would block that entry permanently, so it is removed.
 */
TEST(entries_of_another_key_are_reported_and_replaced)
{
    char *folder = temporary_make(), a[TN_STORE_NAME_SIZE], b[TN_STORE_NAME_SIZE];
    tn_store *store = open_folder(folder, 0);
    size_t size;
    put(store, "b", "2");
    tn_store_name(TN_STORE_TRIAL, "a", a);
    tn_store_name(TN_STORE_TRIAL, "b", b);
    assert_int_equal(rename(temporary_path(folder, b), temporary_path(folder, a)), 0);
    assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
    assert_lines(1, "has the wrong key; it will be created again");
    assert_has(store, "a", NULL);
    tn_store_put(store, TN_STORE_CHECK, "a", "3", 1);
    tn_store_name(TN_STORE_CHECK, "a", b);
    assert_int_equal(rename(temporary_path(folder, b), temporary_path(folder, a)), 0);
    assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
    assert_lines(1, "has the wrong key; it will be created again");
    tn_store_destroy(store);
    temporary_remove(folder);
}

/* Checks the limit through the store, whose first write counts the existing files. */
TEST(the_size_limit_is_enforced)
{
    char *folder = temporary_make(), key[32], text[1001];
    memset(text, 'x', sizeof text);
    text[1000] = '\0';
    tn_store *store = open_folder(folder, 0);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "key %d", i);
        put(store, key, text);
    }
    assert_int_equal(temporary_count(folder, ".trial"), 20);
    tn_store_destroy(store);
    store = open_folder(folder, 5500);
    put(store, "one more", "1");
    assert_in_range(temporary_count(folder, ".trial"), 4, 6);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "new %d", i);
        put(store, key, text);
        assert_true(temporary_count(folder, ".trial") <= 6);
    }
    assert_lines(0, "");
    tn_store_destroy(store);
    temporary_remove(folder);
}

/* An application's store of one entry, which reports sizes as instructed by the test. */
static struct own {
    char name[64];
    unsigned char bytes[1000];
    size_t size, told_first, told_second;
    bool is_lying;
    int sets, removals;
} own;

static size_t get_own(void *user, const char *name, void *data, size_t capacity)
{
    assert_ptr_equal(user, &own);
    if (own.is_lying)
        return data == NULL ? own.told_first : own.told_second;
    if (strcmp(name, own.name) != 0)
        return 0;
    if (data != NULL)
        memcpy(data, own.bytes, capacity < own.size ? capacity : own.size);
    return own.size;
}

static void set_own(void *user, const char *name, const void *data, size_t size)
{
    assert_ptr_equal(user, &own);
    assert_true(strlen(name) < 64);
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789."), strlen(name));
    own.sets += size > 0;
    own.removals += size == 0;
    assert_true(size <= sizeof own.bytes);
    if (size > 0)
        memcpy(own.bytes, data, size);
    own.size = size;
    snprintf(own.name, sizeof own.name, "%s", name);
}

static tn_store *open_own(void)
{
    memset(&own, 0, sizeof own);
    return open_store(&(tenon_store){
        .kind = TENON_STORE_FUNCTIONS, .get = get_own, .set = set_own, .user = &own});
}

TEST(application_functions_are_used)
{
    tn_store *store = open_own();
    size_t size;
    assert_null(tn_store_folder(store));
    assert_has(store, "a", NULL);
    put(store, "a", "one");
    assert_has(store, "a", "one");
    assert_has(store, "b", NULL);
    own.bytes[own.size - 1] ^= 1;
    assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
    assert_lines(1, "is truncated or corrupted");
    assert_int_equal(own.removals, 1);
    assert_has(store, "a", NULL);
    put(store, "a", "two");
    tn_store_remove(store, TN_STORE_TRIAL, "a");
    assert_int_equal(own.removals, 2);
    assert_int_equal(own.sets, 2);
    assert_lines(0, "");
    tn_store_destroy(store);
}

TEST(inconsistent_sizes_are_handled)
{
    static const size_t sizes[] = {
        0,       1, 47, 48, 100, (size_t)1 << 29, ((size_t)1 << 30) + 1, SIZE_MAX / 2, SIZE_MAX - 1,
        SIZE_MAX};
    const size_t count = sizeof sizes / sizeof *sizes;
    tn_store *store = open_own();
    size_t size;
    own.is_lying = true;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            /* A function that reports this size as written must have written it. */
            if (i == k && sizes[i] > 0 && sizes[i] <= TN_ENTRY_MAX_SIZE)
                continue;
            own.told_first = sizes[i];
            own.told_second = sizes[k];
            assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
            assert_int_equal(tn_store_has(store, TN_STORE_TRIAL, "a"), sizes[i] > 0);
        }
    assert_lines(0, "");
    tn_store_destroy(store);
}

#define THREADS 6

/* A value found under a key is complete, whichever thread stored it. */
static void *use_at_once(void *data)
{
    tn_store *store = data;
    test_random random = test_random_for((uint64_t)(uintptr_t)&random);
    for (int i = 0; i < 300; i++) {
        char key[32], text[4000];
        const int number = (int)test_between(&random, 0, 7);
        snprintf(key, sizeof key, "key %d", number);
        memset(text, 'a' + number, sizeof text);
        text[test_between(&random, 1, sizeof text - 1)] = '\0';
        size_t size;
        char *got = tn_store_get(store, TN_STORE_TRIAL, key, &size);
        for (size_t k = 0; got != NULL && k < size; k++)
            assert_int_equal(got[k], 'a' + number);
        free(got);
        if (test_one_in(&random, 8))
            tn_store_remove(store, TN_STORE_TRIAL, key);
        else
            put(store, key, text);
    }
    return NULL;
}

/* Another process that takes the lock and is killed while it holds it. */
TEST(locks_exclude_others_and_end_with_their_process)
{
    char *folder = temporary_make();
    tn_store *store = open_folder(folder, 0), *other = open_folder(folder, 0);
    bool is_busy;
    int ready[2], status;
    char byte;
    tn_store_lock *lock = tn_store_lock_try(store, "a", &is_busy);
    assert_non_null(lock);
    assert_null(tn_store_lock_try(other, "a", &is_busy));
    assert_true(is_busy);
    assert_null(tn_store_lock_try(store, "a", &is_busy));
    assert_true(is_busy);
    tn_store_lock_release(lock);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        byte = tn_store_lock_try(other, "a", &is_busy) != NULL ? 'y' : 'n';
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_null(tn_store_lock_try(store, "a", &is_busy));
    assert_true(is_busy);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    lock = tn_store_lock_try(store, "a", &is_busy);
    assert_non_null(lock);
    tn_store_lock_release(lock);
    tn_store_lock_release(NULL);
    close(ready[0]);
    close(ready[1]);
    tn_store_destroy(store);
    tn_store_destroy(other);
    temporary_remove(folder);
}

static bool count_down(const void *user)
{
    unsigned *left = (unsigned *)(uintptr_t)user;
    return (*left)-- > 0;
}

/* A lock that is not released is waited for until the limit, or until the caller gives up. */
TEST(waits_for_locks_end)
{
    const uint64_t limit = UINT64_C(50000000), endless = UINT64_C(1000000000000000);
    char *folder = temporary_make();
    tn_store *store = open_folder(folder, 0), *other = open_folder(folder, 0);
    bool is_busy;
    unsigned left = 1000000;
    tn_store_lock *lock = tn_store_lock_try(store, "a", &is_busy);
    assert_non_null(lock);
    const uint64_t began = tn_now();
    assert_null(tn_store_lock_wait(other, "a", limit, count_down, &left));
    assert_true(tn_now() - began >= limit);
    assert_true(left < 1000000 && left > 0);
    left = 3;
    assert_null(tn_store_lock_wait(other, "a", endless, count_down, &left));
    left = 0;
    assert_null(tn_store_lock_wait(NULL, "a", endless, count_down, &left));
    assert_int_equal(left, 0);
    tn_store_lock_release(lock);
    lock = tn_store_lock_wait(other, "a", 0, count_down, &left);
    assert_non_null(lock);
    assert_int_equal(left, 0);
    tn_store_lock_release(lock);
    tn_store_destroy(store);
    tn_store_destroy(other);
    temporary_remove(folder);
}

/* Releases a lock after the first attempt of another store to take it. */
static bool release_first(const void *user)
{
    tn_store_lock **held = (tn_store_lock **)(uintptr_t)user;
    tn_store_lock_release(*held);
    *held = NULL;
    return true;
}

TEST(released_locks_are_taken)
{
    char *folder = temporary_make();
    tn_store *store = open_folder(folder, 0), *other = open_folder(folder, 0);
    bool is_busy;
    tn_store_lock *held = tn_store_lock_try(store, "a", &is_busy);
    assert_non_null(held);
    tn_store_lock *lock =
        tn_store_lock_wait(other, "a", UINT64_C(1000000000000000), release_first, &held);
    assert_non_null(lock);
    assert_null(held);
    tn_store_lock_release(lock);
    tn_store_destroy(store);
    tn_store_destroy(other);
    temporary_remove(folder);
}

TEST(stores_without_files_have_no_locks)
{
    char *folder = temporary_make(), path[4200];
    bool is_busy = true;
    assert_null(tn_store_lock_try(NULL, "a", &is_busy));
    assert_false(is_busy);
    /* A path that cannot be a folder. */
    snprintf(path, sizeof path, "%s/file", folder);
    temporary_write(path, "", 0);
    tn_store *store = open_folder(path, 0);
    is_busy = true;
    assert_null(tn_store_lock_try(store, "a", &is_busy));
    assert_false(is_busy);
    tn_store_destroy(store);
    temporary_remove(folder);
}

TEST(several_threads_at_once)
{
    char *folder = temporary_make();
    pthread_t threads[THREADS];
    test_seed(); /* computes the seed here, because several threads must not do so at once */
    tn_store *store = open_folder(folder, 30000);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_at_once, store), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_lines(0, "");
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
    tn_store_destroy(store);
    temporary_remove(folder);
}
