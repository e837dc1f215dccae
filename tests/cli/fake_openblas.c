/* Stands for OpenBLAS's answer to which processor its kernels are for: by itself FAKE_CORE, or the
 * one that OPENBLAS_CORETYPE asks for. Preloaded. */
#include <stdlib.h>

__attribute__((visibility("default"))) char *openblas_get_corename(void)
{
    static char unknown[] = "Prescott";
    char *asked = getenv("OPENBLAS_CORETYPE"), *own = getenv("FAKE_CORE");
    return asked != NULL ? asked : own != NULL ? own : unknown;
}
