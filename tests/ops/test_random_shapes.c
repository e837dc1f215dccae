/* Tests that an application whose shapes change with every call eventually compiles nothing more.
 */
#include "quick.h"
#include "random_calls.h"

#include <inttypes.h>

enum { IN_A_ROW = 1000, MOST = 20 * IN_A_ROW, MOST_PROGRAMS = 100 };
enum { QUICK_KINDS = 2 }; /* kinds of calls whose kernels compile fast */

TEST(a_thousand_in_a_row_compile_nothing)
{
    test_random random = test_random_for(71);
    uint64_t builds = test_statistics(test_context).programs_built;
    const uint64_t begins = builds;
    int calls = 0, quiet = 0;
    for (; quiet < IN_A_ROW && calls < MOST; calls++) {
        tn_case c;
        char why[512];
        random_call(&random, quick_is_on() ? QUICK_KINDS : RANDOM_CALLS, &c);
        if (random_call_run(test_stream, &c, why)[0] != '\0')
            fail_msg("%s", why);
        const uint64_t now = test_statistics(test_context).programs_built;
        quiet = now == builds ? quiet + 1 : 0;
        builds = now;
    }
    printf("%" PRIu64 " programs in %d calls\n", builds - begins, calls - quiet);
    assert_int_equal(quiet, IN_A_ROW);
    assert_in_range(builds - begins, 1, MOST_PROGRAMS);
}
