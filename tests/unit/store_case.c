#include "store_case.h"

#include "common/testing.h"

#include <stdatomic.h>

static atomic_int lines;
static char last_line[512];

static void hear(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    assert_int_equal(level, TENON_LOG_WARNING);
    atomic_fetch_add(&lines, 1);
    snprintf(last_line, sizeof last_line, "%s", message);
}

const tn_log store_heard = {hear, NULL, TENON_LOG_DEBUG};

tn_store *store_open(const tenon_store *where)
{
    tn_store *store;
    atomic_store(&lines, 0);
    assert_int_equal(tn_store_create("tenon_test", where, &store_heard, &store), TENON_OK);
    return store;
}

tn_store *store_open_folder(const char *folder, uint64_t limit)
{
    return store_open(&(tenon_store){.kind = TENON_STORE_FOLDER, .folder = folder, .limit = limit});
}

void store_put(tn_store *store, const char *key, const char *text)
{
    tn_store_put(store, TN_STORE_TRIAL, key, text, strlen(text));
}

void store_assert_has(tn_store *store, const char *key, const char *text)
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

const char *store_last_line(void)
{
    return last_line;
}

void store_assert_lines(int count, const char *part)
{
    assert_int_equal(atomic_load(&lines), count);
    if (count > 0)
        assert_contains(last_line, part);
    atomic_store(&lines, 0);
}
