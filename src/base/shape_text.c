#include "base/shape_text.h"

#include <inttypes.h>
#include <stdio.h>

char *tn_shape_text(uint32_t rank, const int64_t *shape, char text[160])
{
    int used = snprintf(text, 160, "%s", rank == 0 ? "scalar" : "");
    for (uint32_t d = 0; d < rank && used < 160; d++)
        used +=
            snprintf(text + used, (size_t)(160 - used), "%s%" PRId64, d == 0 ? "" : "x", shape[d]);
    return text;
}
