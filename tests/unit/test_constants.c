/* Tests the device model's constants as measured on the current processor. */
#include "common/testing.h"
#include "device/host_speed.h"
#include "runtime/probe/constants.h"

#include <math.h>
#include <string.h>

static const tn_device_kind *table(void)
{
    return tn_device_kind_of_cpu(16, 0);
}

/* Returns the speeds for which no constant of the table changes. */
static tn_host_speed usual(void)
{
    const tn_device_kind *kind = table();
    return (tn_host_speed){.rate = kind->rates.f32 / kind->reached.rate,
                           .memory = kind->memory.bandwidth / kind->reached.memory,
                           .cache = kind->memory.cache / kind->reached.cache,
                           .cache_size = 32 << 20,
                           .pages = kind->in_place.pages,
                           .unaligned = kind->in_place.unaligned};
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * wanted))
        fail_msg("%g, expected %g", value, wanted);
}

TEST(small_deviations_keep_the_table)
{
    for (int percent = 78; percent < 129; percent += 5) {
        const double factor = percent / 100.0;
        tn_host_speed speed = usual();
        tn_device_kind own;
        speed.rate *= factor;
        speed.memory *= factor;
        speed.cache *= factor;
        tn_constants_apply(table(), &speed, &own);
        assert_memory_equal(&own.rates, &table()->rates, sizeof own.rates);
        assert_memory_equal(&own.steps, &table()->steps, sizeof own.steps);
        assert_memory_equal(&own.memory, &table()->memory, sizeof own.memory);
    }
}

TEST(large_deviations_scale_by_steps)
{
    const tn_device_kind *kind = table();
    tn_host_speed speed = usual();
    tn_device_kind own;
    speed.rate *= 0.51;
    speed.memory *= 8.3;
    speed.cache *= 1e9;
    tn_constants_apply(kind, &speed, &own);
    assert_near(own.rates.f32, kind->rates.f32 / 2);
    assert_near(own.rates.f64, kind->rates.f64 / 2);
    assert_near(own.rates.scalar, kind->rates.scalar / 2);
    assert_near(own.steps.row, kind->steps.row * 2);
    assert_near(own.memory.bandwidth, kind->memory.bandwidth * 8);
    assert_near(own.memory.cache, kind->memory.cache * 64); /* the upper limit */
    assert_string_equal(own.name, kind->name);
}

TEST(ratios_are_rounded_to_eighths)
{
    static const double shares[][2] = {{0.01, 0.125}, {0.55, 0.5}, {0.57, 0.625},
                                       {0.9, 0.875},  {0.94, 1},   {1, 1}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        tn_host_speed speed = usual();
        tn_device_kind own;
        speed.pages = shares[i][0];
        tn_constants_apply(table(), &speed, &own);
        assert_near(own.in_place.pages, shares[i][1]);
        speed.unaligned = shares[i][0];
        tn_constants_apply(table(), &speed, &own);
        assert_near(own.in_place.unaligned, shares[i][1]);
    }
}

TEST(stored_constants_are_read_back)
{
    const tn_host_speed speed = {57.25, 31.5, 21, 32 << 20, 0.625, 0.75};
    tn_host_speed read;
    char text[TN_CONSTANTS_TEXT];
    tn_constants_text(&speed, text, sizeof text);
    assert_true(tn_constants_parse(text, &read));
    assert_true(read.rate == 57.25 && read.memory == 31.5 && read.cache == 21);
    assert_true(read.cache_size == 32 << 20 && read.pages == 0.625 && read.unaligned == 0.75);
}

#define TEXT(rate, memory, cache, size, pages, unaligned)                                          \
    "rate " rate " memory " memory " cache " cache " cache_size " size " pages " pages             \
    " unaligned " unaligned

TEST(arbitrary_text_is_refused)
{
    static const char *const texts[] = {"",
                                        "rate",
                                        "rate 1 memory 2",
                                        "rate 1 memory 2 cache",
                                        "rate 1 memory 2 cache 3",
                                        "rate 1 memory 2 cache 3 cache_size 4 pages 1",
                                        TEXT("-1", "2", "3", "4", "1", "1"),
                                        TEXT("0", "2", "3", "4", "1", "1"),
                                        TEXT("1", "nan", "3", "4", "1", "1"),
                                        TEXT("1", "2", "inf", "4", "1", "1"),
                                        TEXT("1e300", "2", "3", "4", "1", "1"),
                                        TEXT("1", "2", "3", "0", "1", "1"),
                                        TEXT("1", "2", "3", "1e300", "1", "1"),
                                        TEXT("1", "2", "3", "nan", "1", "1"),
                                        TEXT("1", "2", "3", "4", "0", "1"),
                                        TEXT("1", "2", "3", "4", "1", "1.5")};
    test_random random = test_random_for(74);
    tn_host_speed read;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (tn_constants_parse(texts[i], &read))
            fail_msg("\"%s\" is accepted", texts[i]);
    for (int i = 0; i < 10000; i++) {
        char text[] = TEXT("57.25", "31.5", "21", "33554432", "0.625", "0.75");
        for (int n = 0; n < 3; n++)
            text[test_between(&random, 0, sizeof text - 2)] = (char)test_between(&random, 0, 255);
        if (tn_constants_parse(text, &read))
            assert_true(read.rate > 0 && read.memory > 0 && read.cache > 0 && read.rate < 1e6 &&
                        read.memory < 1e6 && read.cache < 1e6 && read.cache_size > 0 &&
                        read.pages > 0 && read.pages <= 1 && read.unaligned > 0 &&
                        read.unaligned <= 1);
    }
}

/* Returns the smallest valid measurements: one set and one repeat. */
static tn_host_times least_times(void)
{
    return (tn_host_times){.threads = 2,
                           .sets = 1,
                           .repeats = 1,
                           .reads = {{.bytes = 1 << 20, .nanoseconds = {1 << 15}}},
                           .multiply_adds = 1e6,
                           .panels = {{2e4}, {4e4}, {1e4}}};
}

TEST(minimal_measurements_suffice)
{
    const tn_host_times times = least_times();
    tn_host_speed speed;
    assert_true(tn_host_speed_of(&times, &speed));
    assert_near(speed.rate, 50);
    assert_near(speed.memory, 32);
    assert_near(speed.cache, 16);
    assert_int_equal(speed.cache_size, 1 << 20);
    assert_near(speed.pages, 0.5);
    assert_near(speed.unaligned, 1); /* never faster than aligned */
}

TEST(tables_without_times_are_refused)
{
    static const double none[] = {0, -1, NAN, INFINITY};
    tn_host_times times = least_times();
    tn_host_speed speed;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        times = least_times();
        times.reads[0].nanoseconds[0] = none[i];
        assert_false(tn_host_speed_of(&times, &speed));
        for (int panel = 0; panel < TN_HOST_PANELS; panel++) {
            times = least_times();
            times.panels[panel][0] = none[i];
            assert_false(tn_host_speed_of(&times, &speed));
        }
        times = least_times();
        times.multiply_adds = none[i];
        assert_false(tn_host_speed_of(&times, &speed));
    }
    times = least_times();
    times.sets = 0;
    assert_false(tn_host_speed_of(&times, &speed));
    times.sets = TN_HOST_SETS + 1;
    assert_false(tn_host_speed_of(&times, &speed));
    times = least_times();
    times.repeats = 0;
    assert_false(tn_host_speed_of(&times, &speed));
    times.repeats = TN_HOST_REPEATS + 1;
    assert_false(tn_host_speed_of(&times, &speed));
}

TEST(outliers_are_ignored)
{
    double one[] = {7}, even[] = {10, 11, 9, 10}, most[] = {10, 500, 12, 8, 1e9, 10, 37};
    assert_near(tn_host_uninterrupted_mean(one, 1), 7);
    assert_near(tn_host_uninterrupted_mean(even, 4), 10);
    assert_near(tn_host_uninterrupted_mean(most, 7), 10);
}

/* Checks properties that hold for every processor. The numbers themselves depend on the processor
 * and its load. */
TEST(current_processor_is_measured)
{
    static const uint32_t lanes[] = {4, 7, 8, 16, 64};
    for (uint32_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        const uint64_t most = (uint64_t)8 << 20;
        tn_host_times times;
        tn_host_speed speed;
        assert_true(tn_host_times_take(i, lanes[i], most, &times));
        assert_true(tn_host_speed_of(&times, &speed));
        assert_true(times.threads >= 1 && times.threads <= (i > 0 ? i : 1));
        assert_true(times.repeats >= 1 && times.sets >= 1);
        assert_true(times.reads[times.sets - 1].bytes <= most);
        assert_true(speed.rate > 0 && speed.rate < 1e4);
        assert_true(speed.memory > 0 && speed.memory < 1e5);
        assert_true(speed.cache > 0 && speed.cache < 1e5);
        assert_true(speed.cache_size >= TN_HOST_MIN_SET && speed.cache_size <= most);
        assert_true(speed.pages > 0 && speed.pages <= 1);
        assert_true(speed.unaligned > 0 && speed.unaligned <= 1);
    }
}

TEST(too_little_memory_is_refused)
{
    tn_host_times times;
    assert_false(tn_host_times_take(2, 4, 0, &times));
    assert_false(tn_host_times_take(2, 4, ((uint64_t)4 << 20) - 1, &times));
}
