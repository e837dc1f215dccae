/* Tests the text form of measurement outcomes, and the distance between two calls. */
#include "common/testing.h"
#include "dispatch/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

TEST(outcomes_are_read_back)
{
    const tn_tuned tuned = {"gemm/tiled:mb64", 1234, 17, true, "tenon check gemm a=f32:3x5"};
    tn_tuned read;
    char text[512];
    tn_tuned_text(&tuned, text, sizeof text);
    assert_true(tn_tuned_parse(text, &read));
    assert_string_equal(read.solver, tuned.solver);
    assert_string_equal(read.call, tuned.call);
    assert_true(read.nanoseconds == 1234 && read.candidates == 17 && read.is_searched);
    for (size_t i = 0; i < 3; i++) {
        static const char *const times[] = {"inf", "nan", "-1"};
        snprintf(text, sizeof text, "solver a/b nanoseconds %s candidates 3 searched 1 call x",
                 times[i]);
        assert_false(tn_tuned_parse(text, &read));
    }
}

TEST(random_text_is_handled)
{
    static const char begins[] = "solver gemm/tiled nanoseconds 12 candidates 3 searched 1 call x";
    test_random random = test_random_for(1);
    for (int i = 0; i < 20000; i++) {
        char text[4097] = "";
        tn_tuned tuned;
        size_t length = (size_t)test_between(&random, 0, i % 16 == 0 ? 4096 : 100);
        if (i % 2 == 0)
            memcpy(text, begins, sizeof begins - 1);
        for (size_t n = i % 2 == 0 ? length / 32 + 1 : length; n-- > 0;)
            text[test_between(&random, 0, length > 0 ? (int64_t)length - 1 : 0)] =
                (char)test_between(&random, 0, 255);
        if (!tn_tuned_parse(text, &tuned))
            continue;
        assert_true(tuned.nanoseconds >= 0 && tuned.nanoseconds < (double)INFINITY);
        assert_true(strlen(tuned.solver) < sizeof tuned.solver);
        assert_true(strlen(tuned.call) < sizeof tuned.call);
    }
}

static void assert_distance(const char *a, const char *b, double distance)
{
    const double there = tn_call_distance(a, b), back = tn_call_distance(b, a);
    if (!(there == back && (there == distance || fabs(there - distance) < 1e-9)))
        fail_msg("%s and %s: distances %g and %g, expected %g", a, b, there, back, distance);
}

TEST(calls_differ_only_by_sizes)
{
    static const char call[] = "tenon check gemm a=f32:64x32 b=f32:32x9 d=f32:64x9/16,1+2 --seed 1";
    static const char *const others[] = {
        "tenon check gemm a=f16:64x32 b=f32:32x9 d=f32:64x9/16,1+2 --seed 1",
        "tenon check gemm a=f32:64x32 b=f32:32x9 d=f32:64x9/17,1+2 --seed 1",
        "tenon check gemm a=f32:64x32 b=f32:32x9 d=f32:64x9/16,1+3 --seed 1",
        "tenon check gemm a=f32:64x32 b=f32:32x9 d=f32:64x9/16,1+2 --seed 2",
        "tenon check gemm a=f32:64x32 b=f32:32x9 d=f32:64x9/16,1+2 alpha=2 --seed 1",
        "tenon check gemm a=f32:64x32 b=f32:32x9 c=@d d=f32:64x9/16,1+2 --seed 1",
        "tenon check gemm a=f32:64x32x2 b=f32:32x9 d=f32:64x9/16,1+2 --seed 1",
        "tenon check gemm a=f32:64x b=f32:32x9 d=f32:64x9/16,1+2 --seed 1",
        "tenon check gemm a=f32: b=f32:32x9 d=f32:64x9/16,1+2 --seed 1",
        "tenon check gemm a=f32:64x32 b=f32:32x9",
        "tenon check gemm a=f32:97x32 b=f32:32x9 d=f32:64x9/16,1+2 --seed 1",
        "tenon check gemm a=f32:64x32 b=f32:32x7 d=f32:64x9/16,1+2 --seed 1",
        "",
    };
    assert_distance(call, call, 0);
    assert_distance(call, "tenon check gemm a=f32:96x32 b=f32:32x9 d=f32:64x9/16,1+2 --seed 1",
                    log2(1.5));
    assert_distance(call, "tenon check gemm a=f32:80x32 b=f32:32x8 d=f32:64x9/16,1+2 --seed 1",
                    log2(1.25) + log2(1.125));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_distance(call, others[i], (double)INFINITY);
}
