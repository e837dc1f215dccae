#include "common/testing.h"

/* Disables the store when a test runs without meson test, which sets TENON_CACHE itself. */
__attribute__((constructor)) static void keep_nothing(void)
{
#ifdef _WIN32
    _putenv_s("TENON_CACHE", "0");
#else
    setenv("TENON_CACHE", "0", 1);
#endif
}

uint64_t test_seed(void)
{
    static uint64_t seed;
    if (seed == 0) {
        const char *text = getenv("TENON_TEST_SEED");
        seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
        seed = seed != 0 ? seed : 1;
        printf("TENON_TEST_SEED=%llu\n", (unsigned long long)seed);
    }
    return seed;
}
