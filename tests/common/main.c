/* Entry point of a test program that needs no device. */
#include "common/testing.h"

int main(void)
{
    return test_run_group();
}
