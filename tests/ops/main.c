/* Entry point of a test program without one of its own. */
#include "support.h"

int main(void)
{
    return test_main();
}
