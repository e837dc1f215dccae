#include "base/processor.h"

#include "base/platform.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>

#define BRAND_SIZE    129
#define FEATURES_SIZE 8192

void tn_processor_name(char name[TN_PROCESSOR_SIZE])
{
    char brand[BRAND_SIZE], features[FEATURES_SIZE];
    tn_processor_facts(brand, sizeof brand, features, sizeof features);
    name[0] = '\0';
    if (brand[0] != '\0' || features[0] != '\0')
        snprintf(name, TN_PROCESSOR_SIZE, "%s, features %016" PRIx64, brand,
                 (uint64_t)XXH3_64bits(features, strlen(features)));
}

/* Returns true if `words`, separated by spaces, contain the first `length` characters of `word`. */
static bool contains(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at != '\0';) {
        at += strspn(at, " ");
        const size_t here = strcspn(at, " ");
        if (here == length && memcmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

bool tn_processor_has(const char *features, const char *needed)
{
    char brand[BRAND_SIZE], own[FEATURES_SIZE];
    if (features == NULL) {
        tn_processor_facts(brand, sizeof brand, own, sizeof own);
        features = own;
    }
    for (const char *at = needed; *at != '\0';) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, " ");
        if (length > 0 && !contains(features, at, length))
            return false;
        at += length;
    }
    return true;
}

bool tn_processor_is_in(const char *text)
{
    char brand[BRAND_SIZE], features[FEATURES_SIZE];
    tn_processor_facts(brand, sizeof brand, features, sizeof features);
    return brand[0] != '\0' && strstr(text, brand) != NULL;
}
