/* Preloaded replacement of OpenBLAS's query for its kernels' processor: returns the value of
 * OPENBLAS_CORETYPE if it is set, otherwise that of FAKE_CORE. */
#include <stdlib.h>

__attribute__((visibility("default"))) char *openblas_get_corename(void)
{
    static char unknown[] = "Prescott";
    char *asked = getenv("OPENBLAS_CORETYPE"), *own = getenv("FAKE_CORE");
    return asked != NULL ? asked : own != NULL ? own : unknown;
}
