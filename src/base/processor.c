#include "base/processor.h"

#include "base/platform.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>

void tn_processor_name(char name[TN_PROCESSOR_SIZE])
{
    char brand[129], features[8192];
    tn_processor_facts(brand, sizeof brand, features, sizeof features);
    name[0] = '\0';
    if (brand[0] != '\0' || features[0] != '\0')
        snprintf(name, TN_PROCESSOR_SIZE, "%s, features %016" PRIx64, brand,
                 (uint64_t)XXH3_64bits(features, strlen(features)));
}
