/* Tests the store: what it stores and refuses, and that its failures do not make any call fail. */
#include "store_case.h"

#include "common/temporary.h"
#include "common/testing.h"

#include "base/status.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(entries_are_stored_and_removed)
{
    char *folder = temporary_make();
    tn_store *store = store_open_folder(temporary_path(folder, "new/one"), 0);
    assert_string_equal(tn_store_folder(store), temporary_path(folder, "new/one"));
    store_assert_has(store, "a", NULL);
    store_put(store, "a", "1");
    store_put(store, "b", "");
    store_put(store, "a", "one");
    tn_store_put(store, TN_STORE_CHECK, "a", "another kind's", 14);
    store_assert_has(store, "a", "one");
    store_assert_has(store, "b", "");
    tn_store_remove(store, TN_STORE_TRIAL, "a");
    tn_store_remove(store, TN_STORE_TRIAL, "never there");
    store_assert_has(store, "a", NULL);
    assert_true(tn_store_has(store, TN_STORE_CHECK, "a"));
    tn_store_destroy(store);
    store = store_open_folder(temporary_path(folder, "new/one"), 0);
    store_assert_has(store, "b", "");
    store_assert_lines(0, "");
    tn_store_destroy(store);
    temporary_remove(folder);
}

TEST(a_disabled_store_keeps_nothing)
{
    size_t size;
    assert_null(store_open(&(tenon_store){.kind = TENON_STORE_NONE}));
    setenv("TENON_CACHE", "0", 1);
    assert_null(store_open(&(tenon_store){.kind = TENON_STORE_USUAL}));
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
    tn_store *store = (tn_store *)(uintptr_t)&store_heard;
    assert_int_equal(tn_store_create("tenon_test", where, &store_heard, &store),
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
        store_put(store, "a", "1");
        store_assert_has(store, "a", NULL);
        tn_store_remove(store, TN_STORE_TRIAL, "a");
    }
}

TEST(unusable_folders_are_reported_once)
{
    char *folder = temporary_make();
    assert_int_equal(chmod(folder, 0770), 0);
    tn_store *store = store_open_folder(folder, 0);
    use_in_vain(store);
    store_assert_lines(1, "other users can write to it");
    tn_store_destroy(store);
    assert_int_equal(chmod(folder, 0700), 0);
    temporary_write(temporary_path(folder, "file"), "", 0);
    store = store_open_folder(temporary_path(folder, "file"), 0);
    use_in_vain(store);
    store_assert_lines(1, "it is not a directory");
    tn_store_destroy(store);
    temporary_remove(folder);
}

TEST(a_removed_folder_is_reported_once)
{
    char *parent = temporary_make(), *folder = strdup(temporary_path(parent, "store"));
    tn_store *store = store_open_folder(folder, 0);
    char name[256];
    store_put(store, "a", "1");
    store_assert_has(store, "a", "1");
    assert_true(temporary_find(folder, ".trial", name));
    assert_int_equal(unlink(temporary_path(folder, name)), 0);
    assert_int_equal(rmdir(folder), 0);
    use_in_vain(store);
    store_assert_lines(1, "no file can be created in it");
    tn_store_destroy(store);
    free(folder);
    temporary_remove(parent);
}

/* Only one entry cannot be written; all others can. */
TEST(a_directory_named_like_an_entry_is_reported_once)
{
    char *folder = temporary_make(), name[256];
    tn_store *store = store_open_folder(folder, 0);
    store_put(store, "a", "1");
    assert_true(temporary_find(folder, ".trial", name));
    char *path = strdup(temporary_path(folder, name)), *inside = strdup(temporary_path(path, "x"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    temporary_write(inside, "", 0);
    for (int i = 0; i < 3; i++) {
        store_put(store, "a", "1");
        store_assert_has(store, "a", NULL);
        tn_store_remove(store, TN_STORE_TRIAL, "a");
    }
    store_assert_lines(1, "is a directory; remove it");
    store_put(store, "b", "2");
    store_assert_has(store, "b", "2");
    store_assert_lines(0, "");
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
    assert_int_equal(unlink(inside), 0);
    assert_int_equal(rmdir(path), 0);
    store_put(store, "a", "3");
    store_assert_has(store, "a", "3");
    tn_store_destroy(store);
    free(inside);
    free(path);
    temporary_remove(folder);
}

TEST(a_full_disk_is_reported_once)
{
    char *folder = temporary_make(), *large = calloc(1, 100000);
    struct rlimit usual, small;
    tn_store *store = store_open_folder(folder, 0);
    store_put(store, "small", "1");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = usual;
    small.rlim_cur = 50000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 3; i++)
        tn_store_put(store, TN_STORE_PROGRAM, "large", large, 100000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    store_assert_lines(1, "it cannot be written");
    assert_false(tn_store_has(store, TN_STORE_PROGRAM, "large"));
    store_assert_has(store, "small", "1");
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
    tn_store *store = store_open_folder(folder, 0);
    store_put(store, "a", "1");
    assert_true(temporary_find(folder, ".trial", name));
    const char *path = temporary_path(folder, name);
    bytes = temporary_read(path, &size);
    for (int i = 0; i < 3; i++) {
        bytes[size - 1] ^= 4;
        temporary_write(path, bytes, i == 0 ? size - 1 : i == 1 ? size : 0);
        assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
        store_assert_lines(1, "is truncated or corrupted; it will be created again");
        assert_contains(store_last_line(), name);
        store_assert_has(store, "a", NULL);
        store_put(store, "a", "1");
        store_assert_has(store, "a", "1");
        free(bytes);
        bytes = temporary_read(path, &size);
    }
    store_assert_lines(0, "");
    free(bytes);
    tn_store_destroy(store);
    temporary_remove(folder);
}

/* An intact entry under another entry's name would block that entry permanently, so it is removed.
 */
TEST(entries_of_another_key_are_reported_and_replaced)
{
    char *folder = temporary_make(), a[TN_STORE_NAME_SIZE], b[TN_STORE_NAME_SIZE];
    tn_store *store = store_open_folder(folder, 0);
    size_t size;
    store_put(store, "b", "2");
    tn_store_name(TN_STORE_TRIAL, "a", a);
    tn_store_name(TN_STORE_TRIAL, "b", b);
    assert_int_equal(rename(temporary_path(folder, b), temporary_path(folder, a)), 0);
    assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
    store_assert_lines(1, "has the wrong key; it will be created again");
    store_assert_has(store, "a", NULL);
    tn_store_put(store, TN_STORE_CHECK, "a", "3", 1);
    tn_store_name(TN_STORE_CHECK, "a", b);
    assert_int_equal(rename(temporary_path(folder, b), temporary_path(folder, a)), 0);
    assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
    store_assert_lines(1, "has the wrong key; it will be created again");
    tn_store_destroy(store);
    temporary_remove(folder);
}

/* Checks the limit through the store, whose first write counts the existing files. */
TEST(the_size_limit_is_enforced)
{
    char *folder = temporary_make(), key[32], text[1001];
    memset(text, 'x', sizeof text);
    text[1000] = '\0';
    tn_store *store = store_open_folder(folder, 0);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "key %d", i);
        store_put(store, key, text);
    }
    assert_int_equal(temporary_count(folder, ".trial"), 20);
    tn_store_destroy(store);
    store = store_open_folder(folder, 5500);
    store_put(store, "one more", "1");
    assert_in_range(temporary_count(folder, ".trial"), 4, 6);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "new %d", i);
        store_put(store, key, text);
        assert_true(temporary_count(folder, ".trial") <= 6);
    }
    store_assert_lines(0, "");
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
    return store_open(&(tenon_store){
        .kind = TENON_STORE_FUNCTIONS, .get = get_own, .set = set_own, .user = &own});
}

TEST(application_functions_are_used)
{
    tn_store *store = open_own();
    size_t size;
    assert_null(tn_store_folder(store));
    store_assert_has(store, "a", NULL);
    store_put(store, "a", "one");
    store_assert_has(store, "a", "one");
    store_assert_has(store, "b", NULL);
    own.bytes[own.size - 1] ^= 1;
    assert_null(tn_store_get(store, TN_STORE_TRIAL, "a", &size));
    store_assert_lines(1, "is truncated or corrupted");
    assert_int_equal(own.removals, 1);
    store_assert_has(store, "a", NULL);
    store_put(store, "a", "two");
    tn_store_remove(store, TN_STORE_TRIAL, "a");
    assert_int_equal(own.removals, 2);
    assert_int_equal(own.sets, 2);
    store_assert_lines(0, "");
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
    store_assert_lines(0, "");
    tn_store_destroy(store);
}
