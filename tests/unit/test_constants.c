/* The device model's numbers of the processor at hand. */
#include "common/testing.h"
#include "runtime/constants.h"

#include <math.h>
#include <string.h>

static const tn_device_kind *table(void)
{
    return tn_device_kind_of_cpu(16, 0);
}

/* What would be measured where the table is right. */
static tn_host_speed usual(void)
{
    const tn_device_kind *kind = table();
    return (tn_host_speed){kind->rates.f32 / kind->reached.rate,
                           kind->memory.bandwidth / kind->reached.memory,
                           kind->memory.cache / kind->reached.cache};
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * wanted))
        fail_msg("%g, must be %g", value, wanted);
}

static void near_the_table_it_stays_the_table(void **state)
{
    (void)state;
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

static void further_off_it_goes_by_steps(void **state)
{
    const tn_device_kind *kind = table();
    tn_host_speed speed = usual();
    tn_device_kind own;
    (void)state;
    speed.rate *= 0.51;
    speed.memory *= 8.3;
    speed.cache *= 1e9;
    tn_constants_apply(kind, &speed, &own);
    assert_near(own.rates.f32, kind->rates.f32 / 2);
    assert_near(own.rates.f64, kind->rates.f64 / 2);
    assert_near(own.rates.scalar, kind->rates.scalar / 2);
    assert_near(own.steps.row, kind->steps.row * 2);
    assert_near(own.memory.bandwidth, kind->memory.bandwidth * 8);
    assert_near(own.memory.cache, kind->memory.cache * 64); /* the most */
    assert_string_equal(own.name, kind->name);
}

static void what_is_kept_is_read(void **state)
{
    const tn_host_speed speed = {57.25, 31.5, 21};
    tn_host_speed read;
    char text[128];
    (void)state;
    tn_constants_text(&speed, text, sizeof text);
    assert_true(tn_constants_parse(text, &read));
    assert_true(read.rate == 57.25 && read.memory == 31.5 && read.cache == 21);
}

static void arbitrary_text_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "rate",
                                        "rate 1 memory 2",
                                        "rate 1 memory 2 cache",
                                        "rate -1 memory 2 cache 3",
                                        "rate 0 memory 2 cache 3",
                                        "rate 1 memory nan cache 3",
                                        "rate 1 memory 2 cache inf",
                                        "rate 1e300 memory 2 cache 3"};
    test_random random = test_random_for(74);
    tn_host_speed read;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (tn_constants_parse(texts[i], &read))
            fail_msg("\"%s\" is taken", texts[i]);
    for (int i = 0; i < 10000; i++) {
        char text[] = "rate 57.25 memory 31.5 cache 21";
        for (int n = 0; n < 3; n++)
            text[test_between(&random, 0, sizeof text - 2)] = (char)test_between(&random, 0, 255);
        if (tn_constants_parse(text, &read))
            assert_true(read.rate > 0 && read.memory > 0 && read.cache > 0 && read.rate < 1e6 &&
                        read.memory < 1e6 && read.cache < 1e6);
    }
}

static void it_is_measured(void **state)
{
    tn_host_speed speed = {0};
    (void)state;
    for (uint32_t threads = 0; threads < 4; threads++) {
        assert_true(
            tn_host_speed_measure(threads, 4, (uint64_t)1 << 20, (uint64_t)8 << 20, &speed));
        assert_true(speed.rate > 0.01 && speed.memory > 0.01 && speed.cache > 0.01);
        assert_true(speed.rate < 1000 && speed.cache < 10000);
    }
    assert_false(tn_host_speed_measure(2, 4, 0, (uint64_t)8 << 20, &speed));
    assert_false(tn_host_speed_measure(2, 4, (uint64_t)1 << 20, ((uint64_t)2 << 20) - 1, &speed));
    assert_false(tn_host_speed_measure(2, 4, (uint64_t)1 << 40, UINT64_MAX, &speed));
    assert_false(tn_host_speed_measure(2, 7, (uint64_t)1 << 20, (uint64_t)8 << 20, &speed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_table_it_stays_the_table),
        cmocka_unit_test(further_off_it_goes_by_steps),
        cmocka_unit_test(what_is_kept_is_read),
        cmocka_unit_test(arbitrary_text_is_refused),
        cmocka_unit_test(it_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
