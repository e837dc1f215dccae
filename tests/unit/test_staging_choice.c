/* Tests the choice of memory for messages by imaginary times of copies. */
#include "common/testing.h"
#include "group/staging_choice.h"

#include <math.h>

static void assert_pinned(double pinned, double ordinary, bool expected)
{
    if (tn_staging_pinned_serves(pinned, ordinary) != expected)
        fail_msg("%g ns with pinned and %g ns with ordinary memory: should be %s", pinned, ordinary,
                 expected ? "pinned" : "ordinary");
}

TEST(the_faster_memory_is_chosen)
{
    for (int step = 0; step < 9; step++) { /* from a fast card to a slow cable */
        const double time = 1e3 * pow(7.3, step);
        assert_pinned(time, 2.5 * time, true);
        assert_pinned(time, time, true);
        assert_pinned(time, 0.95 * time, true); /* noise */
        assert_pinned(time, 0.85 * time, false);
        assert_pinned(time, 0.1 * time, false);
    }
}

TEST(without_measurements_memory_is_pinned)
{
    static const double not_times[] = {0, -1, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof not_times / sizeof *not_times; i++) {
        assert_pinned(not_times[i], 1000, true);
        assert_pinned(1000, not_times[i], true);
        assert_pinned(not_times[i], not_times[i], true);
    }
    assert_pinned(INFINITY, 1000, false);
    assert_pinned(1000, INFINITY, true);
}
