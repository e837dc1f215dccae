#include "sort_case.h"

#include <math.h>

void test_fill_keys(test_tensor *x, test_keys keys, test_random *random)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
    const int64_t count = tenon_tensor_elements(&x->view);
    for (int64_t i = 0; i < count; i++) {
        switch (keys) {
        case TEST_KEYS_SPECIAL:
            if (test_one_in(random, 4))
                test_set(x, i, special[test_between(random, 0, 4)]);
            break;
        case TEST_KEYS_FEW:
            test_set(x, i, (double)test_between(random, -1, 1));
            break;
        case TEST_KEYS_EQUAL:
            test_set(x, i, 5);
            break;
        case TEST_KEYS_ASCENDING:
            test_set(x, i, (double)i);
            break;
        case TEST_KEYS_DESCENDING:
            test_set(x, i, (double)(count - i));
            break;
        default:
            return;
        }
    }
}
