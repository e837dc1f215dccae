/* Tests statuses, the thread's error message, and the truncation of long messages. */
#include "common/testing.h"

#include "base/status.h"

#include <tenon/transport.h>

#include <pthread.h>

TEST(status_names)
{
    for (int a = TENON_OK; a <= TENON_ERROR_FILE; a++) {
        const char *name = tenon_status_string((tenon_status)a);
        assert_int_equal(strncmp(name, a == 0 ? "TENON_OK" : "TENON_ERROR_", 8), 0);
        for (int b = TENON_OK; b < a; b++)
            assert_string_not_equal(name, tenon_status_string((tenon_status)b));
    }
    assert_string_equal(tenon_status_string(TENON_ERROR_WORKSPACE_TOO_SMALL),
                        "TENON_ERROR_WORKSPACE_TOO_SMALL");
    assert_string_equal(tenon_status_string((tenon_status)(TENON_ERROR_FILE + 1)),
                        "unknown status");
    assert_string_equal(tenon_status_string((tenon_status)-1), "unknown status");
}

/* Runs first, before any failure on this thread. */
TEST(there_is_no_message_at_first)
{
    assert_string_equal(tenon_last_error(), "");
    assert_int_equal(tenon_last_cl_error(), CL_SUCCESS);
}

/* The text is not a format. */
TEST(transports_set_the_message)
{
    assert_int_equal(tenon_transport_fail(TENON_ERROR_PEER_LOST, "rank 3: 100 %s"),
                     TENON_ERROR_PEER_LOST);
    assert_string_equal(tenon_last_error(), "rank 3: 100 %s");
    assert_int_equal(tenon_last_cl_error(), CL_SUCCESS);
    assert_int_equal(tenon_transport_fail(TENON_ERROR_OPENCL, NULL), TENON_ERROR_OPENCL);
    assert_string_equal(tenon_last_error(), "");
}

TEST(failures_set_the_message)
{
    assert_int_equal(tn_fail(TENON_ERROR_UNSUPPORTED, "op: %s is %d", "x", 7),
                     TENON_ERROR_UNSUPPORTED);
    assert_string_equal(tenon_last_error(), "op: x is 7");
    assert_int_equal(tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_VALUE, "op: failed"),
                     TENON_ERROR_OPENCL);
    assert_string_equal(tenon_last_error(), "op: failed");
    assert_int_equal(tenon_last_cl_error(), CL_INVALID_VALUE);
    tn_fail(TENON_ERROR_UNSUPPORTED, "another");
    assert_int_equal(tenon_last_cl_error(), CL_SUCCESS);
}

TEST(the_old_message_may_be_an_argument)
{
    tn_fail(TENON_ERROR_OPENCL, "inner");
    tn_fail(TENON_ERROR_INCOMPLETE, "outer: %s", tenon_last_error());
    assert_string_equal(tenon_last_error(), "outer: inner");
}

TEST(long_messages_are_truncated)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tn_fail(TENON_ERROR_INVALID_ARGUMENT, "op: %s", text);
    assert_true(strlen(tenon_last_error()) < sizeof text);
    assert_int_equal(strncmp(tenon_last_error(), "op: xxx", 7), 0);
}

static void *fail_elsewhere(void *result)
{
    *(bool *)result = tenon_last_error()[0] == '\0' && tenon_last_cl_error() == CL_SUCCESS;
    tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_KERNEL, "elsewhere");
    return NULL;
}

TEST(messages_are_per_thread)
{
    pthread_t thread;
    bool clean = false;
    tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_VALUE, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &clean), 0);
    pthread_join(thread, NULL);
    assert_true(clean);
    assert_string_equal(tenon_last_error(), "here");
    assert_int_equal(tenon_last_cl_error(), CL_INVALID_VALUE);
}

/* Returns a text in which each part is recognizable. */
static char *numbered_text(size_t length)
{
    char *text = malloc(length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)('a' + i / 26 % 26 * (i % 2) + i % 26 * (1 - i % 2));
    text[length] = '\0';
    return text;
}

static void append_and_check(size_t length, bool whole)
{
    static const char head[] = "head: ";
    char *text = numbered_text(length);
    tn_fail(TENON_ERROR_BUILD_FAILED, "%s", head);
    tn_fail_append(text);
    const char *message = tenon_last_error(), *rest = message + strlen(head);
    assert_int_equal(strncmp(message, head, strlen(head)), 0);
    assert_true(strlen(message) < TN_MESSAGE_SIZE);
    if (whole) {
        assert_string_equal(rest, text);
    } else {
        const char *gap = strstr(rest, "[…]");
        assert_non_null(gap);
        assert_int_equal(strlen(message), TN_MESSAGE_SIZE - 1);
        assert_int_equal(strncmp(rest, text, (size_t)(gap - rest) - 1), 0);
        const char *tail = gap + strlen("[…]\n");
        assert_string_equal(tail, text + length - strlen(tail));
        assert_true((size_t)(gap - rest) > TN_MESSAGE_SIZE / 3);
        assert_true(strlen(tail) > TN_MESSAGE_SIZE / 3);
    }
    free(text);
}

TEST(append_truncates_the_middle)
{
    const size_t room = TN_MESSAGE_SIZE - 1 - strlen("head: ");
    append_and_check(0, true);
    append_and_check(100, true);
    append_and_check(room, true);
    append_and_check(room + 1, false);
    append_and_check(10 * TN_MESSAGE_SIZE, false);
}

TEST(append_to_a_full_message_changes_nothing)
{
    char *text = numbered_text(TN_MESSAGE_SIZE * 2), *before;
    tn_fail(TENON_ERROR_BUILD_FAILED, "head");
    tn_fail_append(text);
    before = strdup(tenon_last_error());
    assert_non_null(before);
    tn_fail_append(text);
    assert_string_equal(tenon_last_error(), before);
    free(before);
    free(text);
}

TEST(saved_messages_are_restored)
{
    tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_VALUE, "mine");
    tn_kept_message kept;
    assert_true(tn_message_keep(&kept));
    tn_fail(TENON_ERROR_UNSUPPORTED, "a trial's");
    tn_message_restore(&kept);
    assert_string_equal(tenon_last_error(), "mine");
    assert_int_equal(tenon_last_cl_error(), CL_INVALID_VALUE);
}

TEST(saved_messages_are_restored_only_after_success)
{
    tn_kept_message kept;
    for (int failed = 0; failed < 2; failed++) {
        const tenon_status status = failed ? TENON_ERROR_UNSUPPORTED : TENON_OK;
        tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_VALUE, "mine");
        assert_true(tn_message_keep(&kept));
        tn_fail(TENON_ERROR_UNSUPPORTED, "on the way");
        assert_int_equal(tn_message_end(&kept, status), status);
        assert_string_equal(tenon_last_error(), failed ? "on the way" : "mine");
        assert_int_equal(tenon_last_cl_error(), failed ? CL_SUCCESS : CL_INVALID_VALUE);
    }
}

TEST(the_cause_is_appended)
{
    char *text = numbered_text(TN_MESSAGE_SIZE - 10);
    tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_VALUE, "cause");
    assert_int_equal(tn_fail_because(TENON_ERROR_INCOMPLETE, "op: part %d", 2),
                     TENON_ERROR_INCOMPLETE);
    assert_string_equal(tenon_last_error(), "op: part 2: cause");
    assert_int_equal(tenon_last_cl_error(), CL_INVALID_VALUE);
    /* Text that does not fit is truncated at the end. */
    tn_fail(TENON_ERROR_BUILD_FAILED, "%s", "");
    tn_fail_append(text);
    tn_fail_because(TENON_ERROR_INCOMPLETE, "%s", text);
    assert_int_equal(strlen(tenon_last_error()), TN_MESSAGE_SIZE - 1);
    assert_int_equal(strncmp(tenon_last_error(), text, 400), 0);
    const char *cause = strstr(tenon_last_error(), ": ") + 2;
    assert_int_equal(strncmp(cause, text, strlen(cause)), 0);
    free(text);
}
