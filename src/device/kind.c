#include "device/kind.h"

#include <string.h>

const tn_device_kind *tn_device_kind_named(const char *name)
{
    for (size_t i = 0; i < tn_device_kind_count; i++)
        if (strcmp(tn_device_kinds[i].name, name) == 0)
            return &tn_device_kinds[i];
    return NULL;
}

const tn_device_kind *tn_device_kind_other(void)
{
    return tn_device_kind_named("other");
}

const tn_device_kind *tn_device_kind_of_nvidia(uint32_t major, uint32_t minor)
{
    const tn_device_kind *best = tn_device_kind_other();
    for (size_t i = 0; i < tn_device_kind_count; i++) {
        const uint32_t own = tn_device_kinds[i].match.nvidia;
        if (own != 0 && own <= 10 * major + minor && own > best->match.nvidia)
            best = &tn_device_kinds[i];
    }
    return best;
}

static bool is_nearer(const tn_kind_match *one, const tn_kind_match *other)
{
    return one->cpu_lanes != other->cpu_lanes ? one->cpu_lanes > other->cpu_lanes
                                              : one->cpu_cache > other->cpu_cache;
}

const tn_device_kind *tn_device_kind_of_cpu_among(const tn_device_kind *kinds, size_t count,
                                                  uint32_t vector_width_f32, uint64_t last_cache)
{
    const uint32_t lanes = vector_width_f32 > 0 ? vector_width_f32 : 1;
    const tn_device_kind *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const tn_kind_match *own = &kinds[i].match;
        if (own->cpu_lanes != 0 && own->cpu_lanes <= lanes && own->cpu_cache <= last_cache &&
            (best == NULL || is_nearer(own, &best->match)))
            best = &kinds[i];
    }
    return best;
}

const tn_device_kind *tn_device_kind_of_cpu(uint32_t vector_width_f32, uint64_t last_cache)
{
    return tn_device_kind_of_cpu_among(tn_device_kinds, tn_device_kind_count, vector_width_f32,
                                       last_cache);
}

/* Returns the length of the longest of the kind's prefixes that the name begins with; 0 if none. */
static size_t length_of_beginning(const tn_kind_match *match, const char *name)
{
    size_t longest = 0;
    for (size_t i = 0; i < sizeof match->amd / sizeof *match->amd && match->amd[i] != NULL; i++) {
        const size_t length = strlen(match->amd[i]);
        if (length > longest && strncmp(name, match->amd[i], length) == 0)
            longest = length;
    }
    return longest;
}

const tn_device_kind *tn_device_kind_of_amd(const char *name)
{
    const tn_device_kind *best = tn_device_kind_other();
    size_t longest = 0;
    for (size_t i = 0; i < tn_device_kind_count; i++) {
        const size_t length = length_of_beginning(&tn_device_kinds[i].match, name);
        if (length > longest) {
            longest = length;
            best = &tn_device_kinds[i];
        }
    }
    return best;
}

const tn_device_kind *tn_device_kind_of_intel(uint32_t ip_version)
{
    const uint32_t version = 100 * (ip_version >> 22) + (ip_version >> 14 & 0xff);
    for (size_t i = 0; i < tn_device_kind_count; i++)
        for (size_t r = 0; r < sizeof tn_device_kinds[i].match.intel / sizeof(uint32_t[2]); r++) {
            const uint32_t *range = tn_device_kinds[i].match.intel[r];
            if (version >= range[0] && version <= range[1] && range[1] != 0)
                return &tn_device_kinds[i];
        }
    return tn_device_kind_other();
}

static bool has_extension(const tn_kind_match *match, const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof match->extensions / sizeof *match->extensions; i++)
        if (match->extensions[i] != NULL && strlen(match->extensions[i]) == length &&
            strncmp(word, match->extensions[i], length) == 0)
            return true;
    return false;
}

const tn_device_kind *tn_device_kind_of_extensions(const char *words)
{
    size_t length;
    for (const char *at = words; *at != '\0'; at += length + strspn(at + length, " ")) {
        length = strcspn(at, " ");
        for (size_t i = 0; i < tn_device_kind_count; i++)
            if (has_extension(&tn_device_kinds[i].match, at, length))
                return &tn_device_kinds[i];
    }
    return NULL;
}
