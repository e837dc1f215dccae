/* Tests measuring the copy bandwidth of simulated GPUs, with noise, failures and impossible times.
 */
#include "common/testing.h"
#include "device/copy_speed.h"
#include "runtime/probe/copy_bandwidth.h"

#include <math.h>

#define BYTES 5e8

/* A GPU that copies `speed` bytes per nanosecond and needs 20 microseconds per launch. Each run
 * takes up to `noise` of its time longer, at random; every second run takes `shared` of its time
 * longer. */
typedef struct gpu {
    double speed, noise, shared;
    unsigned fails_at, runs; /* the run that fails; 0: none */
    double answers;          /* returned instead of the time, unless 0 */
    test_random random;
} gpu;

static bool run(void *user, uint32_t copies, double *nanoseconds)
{
    gpu *g = user;
    const double late = g->noise * (double)test_between(&g->random, 0, 1000) / 1000 +
                        (g->runs % 2 != 0 ? g->shared : 0);
    *nanoseconds = g->answers != 0 ? g->answers : (20000 + copies * BYTES / g->speed) * (1 + late);
    return ++g->runs != g->fails_at;
}

static bool measured(gpu *g, double units, double *speed)
{
    const tn_copy_probe probe = {run, g, BYTES, units};
    g->random = test_random_for(31);
    g->runs = 0;
    return tn_copy_speed_measure(&probe, speed);
}

/* From a phone's memory to twice the fastest memory of today, with 5 % noise. */
TEST(measured_speed_is_accurate)
{
    for (int step = 0; step < 25; step++) {
        const double true_speed = 8 * pow(1.37, step);
        gpu g = {.speed = true_speed, .noise = 0.05};
        double speed;
        if (!measured(&g, 132, &speed) || fabs(speed / true_speed - 1) > 0.08)
            fail_msg("%g is measured as %g", true_speed, speed);
    }
}

TEST(failures_and_impossible_times_are_refused)
{
    static const double absurd[] = {-1, -1e9, 1e-3, 1, 1e3, 1e30, INFINITY, NAN};
    double speed = 7;
    for (unsigned n = 1; n <= 2 + TN_COPY_REPEATS; n++) {
        gpu g = {.speed = 1000, .fails_at = n};
        assert_false(measured(&g, 132, &speed));
        assert_int_equal(g.runs, n);
    }
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        gpu g = {.answers = absurd[i]};
        assert_false(measured(&g, 132, &speed));
    }
    gpu half_shared = {.speed = 1000, .noise = 0.05, .shared = 0.5}, fast = {.speed = 3000};
    assert_false(measured(&half_shared, 132, &speed));
    assert_false(measured(&fast, 2, &speed)); /* two units cannot load that much */
    assert_true(measured(&fast, 132, &speed));
    assert_false(tn_copy_speed_of((double[]){0}, 1, BYTES, 132, &speed));
    assert_false(tn_copy_speed_of(NULL, 0, BYTES, 132, &speed));
}

TEST(slow_outliers_are_ignored)
{
    const double times[TN_COPY_REPEATS] = {1e6, 1.01e6, 9e7, 1e6, 1.02e6, 1e6, 5e6, 1.01e6, 1e6};
    double speed;
    assert_true(tn_copy_speed_of(times, TN_COPY_REPEATS, 1e9, 132, &speed));
    assert_true(fabs(speed - 1000) < 11);
}

/* Data sheet bandwidths in GB/s; copies reach the table's share of them. */
TEST(bandwidth_is_adapted_to_each_card)
{
    static const struct {
        const char *card, *kind;
        double speed;
    } cards[] = {{"H100 SXM", "sm_90", 3350},  {"H200", "sm_90", 4800},
                 {"H100 PCIe", "sm_90", 2000}, {"MI300X", "gfx942", 5300},
                 {"MI325X", "gfx942", 6000},   {"A100 80", "sm_80", 2039},
                 {"RTX 4060", "sm_89", 272},   {"GB10", "sm_120", 273}};
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const tn_device_kind *kind = tn_device_kind_named(cards[i].kind);
        tn_device_kind own;
        tn_copy_speed_apply(kind, cards[i].speed * kind->memory.coalesced, &own);
        if (fabs(log2(own.memory.bandwidth / cards[i].speed)) > 0.126)
            fail_msg("%s has %g", cards[i].card, own.memory.bandwidth);
        const double steps = 4 * log2(own.memory.bandwidth / kind->memory.bandwidth);
        assert_true(fabs(steps - nearbyint(steps)) < 1e-6);
        assert_true(own.rates.f32 == kind->rates.f32);
    }
}

TEST(arbitrary_text_is_refused)
{
    static const char *const texts[] = {"",         "copy",     "copy x",
                                        "copy 0",   "copy -3",  "copy nan",
                                        "copy inf", "copy 1e9", "rate 1 memory 2 cache 3"};
    double speed;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(tn_copy_bandwidth_parse(texts[i], &speed));
    assert_true(tn_copy_bandwidth_parse("copy 4321\n", &speed) && speed == 4321);
}
