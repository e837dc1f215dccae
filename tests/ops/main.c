/* The entry point of a test program that has no other. */
#include "support.h"

int main(void)
{
    return test_main();
}
