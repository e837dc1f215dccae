/* Tests the locks of a store, and its use by several threads. */
#include "store_case.h"

#include "common/temporary.h"
#include "common/testing.h"

#include "base/platform.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
            store_put(store, key, text);
    }
    return NULL;
}

/* Another process that takes the lock and is killed while it holds it. */
TEST(locks_exclude_others_and_end_with_their_process)
{
    char *folder = temporary_make();
    tn_store *store = store_open_folder(folder, 0), *other = store_open_folder(folder, 0);
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
    tn_store *store = store_open_folder(folder, 0), *other = store_open_folder(folder, 0);
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
    tn_store *store = store_open_folder(folder, 0), *other = store_open_folder(folder, 0);
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
    tn_store *store = store_open_folder(path, 0);
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
    tn_store *store = store_open_folder(folder, 30000);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_at_once, store), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    store_assert_lines(0, "");
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
    tn_store_destroy(store);
    temporary_remove(folder);
}
