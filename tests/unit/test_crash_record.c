/* Tests crash guard records with a simulated clock and simulated processes. */
#include "common/testing.h"

#include "runtime/probe/crash_record.h"

#include <inttypes.h>

#define MINUTE INT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define NOW    INT64_C(1000000000)

static tn_crash_record mark_of(const char *process, unsigned strikes, unsigned least, int64_t since)
{
    tn_crash_record mark = {.strikes = strikes, .least = least, .since = since};
    snprintf(mark.process, sizeof mark.process, "%s", process);
    return mark;
}

TEST(records_are_read_back)
{
    const tn_crash_record mark = mark_of("0badcafe.17.4", 2, 3, NOW);
    tn_crash_record read;
    char text[TN_CRASH_RECORD_TEXT];
    const size_t length = tn_crash_record_write(&mark, text);
    assert_int_equal(length, strlen(text));
    assert_true(tn_crash_record_read(text, NOW, &read));
    assert_string_equal(read.process, mark.process);
    assert_int_equal(read.strikes, 2);
    assert_int_equal(read.least, 3);
    assert_true(read.since == NOW);
    assert_false(tn_crash_record_read(text, NOW - 2 * DAY, &read)); /* dated in the future */
}

/* Records of earlier versions contain no `least`. */
TEST(records_without_a_threshold_bar_at_once)
{
    tn_crash_record read;
    assert_true(tn_crash_record_read("process - strikes 4 since 9", NOW, &read));
    assert_int_equal(read.least, 1);
}

TEST(random_records_are_handled)
{
    static const char form[] = "process - strikes 1 since 1000000000 least 1";
    test_random random = test_random_for(26);
    tn_crash_record read;
    char why[256];
    for (int i = 0; i < 20000; i++) {
        char text[sizeof form];
        memcpy(text, form, sizeof form);
        for (size_t k = 0; k + 1 < sizeof form; k++)
            if (test_one_in(&random, 6))
                text[k] = (char)test_between(&random, 0, 255);
        if (tn_crash_record_read(text, NOW, &read))
            (void)tn_crash_record_bars(&read, NOW, why);
    }
}

TEST(a_crash_counts_once)
{
    static const struct {
        const char *process;
        tn_process_state is;
        int64_t age;
        bool counts;
    } table[] = {
        {"a.1.1", TN_PROCESS_ALIVE, 0, false},
        {"a.1.1", TN_PROCESS_ALIVE, 90 * DAY, false},
        {"a.1.1", TN_PROCESS_ENDED, 0, true},
        {"a.1.1", TN_PROCESS_ENDED, 90 * DAY, true},
        {"a.1.1", TN_PROCESS_ELSEWHERE, DAY, false},
        {"a.1.1", TN_PROCESS_ELSEWHERE, DAY + 1, true},
        {"-", TN_PROCESS_ELSEWHERE, 90 * DAY, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tn_crash_record mark = mark_of(table[i].process, 4, 1, NOW - table[i].age);
        assert_int_equal(tn_crash_record_count(&mark, table[i].is, NOW), table[i].counts);
        assert_int_equal(mark.strikes, table[i].counts ? 5 : 4);
        assert_true(mark.since == (table[i].counts ? NOW : NOW - table[i].age));
        assert_false(tn_crash_record_count(&mark, TN_PROCESS_ALIVE, NOW));
        if (table[i].counts)
            assert_false(tn_crash_record_count(&mark, TN_PROCESS_ENDED, NOW));
    }
}

/* Checks that `strikes` crashes bar the trial for exactly `seconds`, if `least` crashes are
 * required. */
static void assert_bars_for(unsigned strikes, unsigned least, int64_t seconds)
{
    const tn_crash_record mark = mark_of("-", strikes, least, NOW);
    char why[256] = "", left[96];
    assert_int_equal(tn_crash_record_bars(&mark, NOW, why), seconds > 0);
    assert_int_equal(tn_crash_record_bars(&mark, NOW + seconds - 1, why), seconds > 0);
    assert_false(tn_crash_record_bars(&mark, NOW + seconds, why));
    if (seconds == 0)
        return;
    assert_true(tn_crash_record_bars(&mark, NOW, why));
    snprintf(left, sizeof left, "(%u so far); the next", strikes);
    assert_contains(why, left);
    snprintf(left, sizeof left, "; the next attempt is in %" PRId64 " minutes",
             seconds / MINUTE + 1);
    assert_contains(why, left);
}

TEST(bar_duration_grows_with_crashes)
{
    for (unsigned least = 1; least <= 4; least++) {
        for (unsigned strikes = 0; strikes < least; strikes++)
            assert_bars_for(strikes, least, 0);
        assert_bars_for(least, least, HOUR);
        assert_bars_for(least + 1, least, DAY);
        assert_bars_for(least + 2, least, 30 * DAY);
        assert_bars_for(least + 40, least, 30 * DAY);
    }
    assert_bars_for(100000, TN_NEVER_BARRED, 0);
}

TEST(a_running_trial_is_not_barred)
{
    const tn_crash_record mark = mark_of("a.1.1", 7, 1, NOW);
    char why[256];
    assert_false(tn_crash_record_bars(&mark, NOW, why));
}
