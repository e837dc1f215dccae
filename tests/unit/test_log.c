/* Tests the log: levels, and messages of any length. */
#include "common/testing.h"

#include "base/log.h"
#include "base/status.h"

typedef struct received {
    int count;
    tenon_log_level level;
    char *text;
} received;

static void receive(void *user, tenon_log_level level, const char *message)
{
    received *r = user;
    r->count++;
    r->level = level;
    free(r->text);
    r->text = strdup(message);
    assert_non_null(r->text);
}

TEST(messages_below_the_level_are_dropped)
{
    received r = {0};
    const tn_log log = {receive, &r, TENON_LOG_WARNING};
    tn_log_send(&log, TENON_LOG_INFO, "no");
    tn_log_send(&log, TENON_LOG_DEBUG, "no");
    assert_int_equal(r.count, 0);
    tn_log_send(&log, TENON_LOG_WARNING, "%s %d", "yes", 1);
    assert_string_equal(r.text, "yes 1");
    assert_int_equal(r.level, TENON_LOG_WARNING);
    tn_log_send(&log, TENON_LOG_ERROR, "yes");
    assert_int_equal(r.count, 2);
    free(r.text);
}

TEST(a_log_without_callback_is_silent)
{
    const tn_log log = {NULL, NULL, TENON_LOG_DEBUG};
    tn_log_send(&log, TENON_LOG_ERROR, "nobody hears %d", 1);
}

TEST(messages_of_any_length_are_complete)
{
    static const size_t lengths[] = {0, 1, 1022, 1023, 1024, 1025, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        received r = {0};
        const tn_log log = {receive, &r, TENON_LOG_ERROR};
        char *text = malloc(lengths[i] + 1);
        assert_non_null(text);
        for (size_t c = 0; c < lengths[i]; c++)
            text[c] = (char)('a' + c % 23);
        text[lengths[i]] = '\0';
        tn_log_send(&log, TENON_LOG_ERROR, "%s", text);
        assert_string_equal(r.text, text);
        free(r.text);
        free(text);
    }
}

static void fail_within(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    (void)level;
    (void)message;
    tn_fail_cl(TENON_ERROR_OPENCL, CL_INVALID_VALUE, "the callback's");
}

/* A failed call in a callback must not replace the error of the function that logs. */
TEST(failing_callbacks_keep_the_callers_error)
{
    const tn_log log = {fail_within, NULL, TENON_LOG_ERROR};
    tn_fail_cl(TENON_ERROR_BUILD_FAILED, CL_BUILD_PROGRAM_FAILURE, "mine");
    tn_log_send(&log, TENON_LOG_ERROR, "said");
    assert_string_equal(tenon_last_error(), "mine");
    assert_int_equal(tenon_last_cl_error(), CL_BUILD_PROGRAM_FAILURE);
}
