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

/* The kind with the largest number that `value` reaches, where `number` finds it in a kind. */
static const tn_device_kind *best_below(uint32_t (*number)(const tn_kind_match *match),
                                        uint32_t value)
{
    const tn_device_kind *best = NULL;
    for (size_t i = 0; i < tn_device_kind_count; i++) {
        const uint32_t own = number(&tn_device_kinds[i].match);
        if (own != 0 && own <= value && (best == NULL || own > number(&best->match)))
            best = &tn_device_kinds[i];
    }
    return best;
}

static uint32_t nvidia_of(const tn_kind_match *match)
{
    return match->nvidia;
}

static uint32_t lanes_of(const tn_kind_match *match)
{
    return match->cpu_lanes;
}

const tn_device_kind *tn_device_kind_of_nvidia(uint32_t major, uint32_t minor)
{
    const tn_device_kind *kind = best_below(nvidia_of, 10 * major + minor);
    return kind != NULL ? kind : tn_device_kind_other();
}

const tn_device_kind *tn_device_kind_of_cpu(uint32_t vector_width_f32)
{
    return best_below(lanes_of, vector_width_f32 > 0 ? vector_width_f32 : 1);
}

static bool begins_as(const tn_kind_match *match, const char *name)
{
    for (size_t i = 0; i < sizeof match->amd / sizeof *match->amd; i++)
        if (match->amd[i] != NULL && strncmp(name, match->amd[i], strlen(match->amd[i])) == 0)
            return true;
    return false;
}

const tn_device_kind *tn_device_kind_of_amd(const char *name)
{
    for (size_t i = 0; i < tn_device_kind_count; i++)
        if (begins_as(&tn_device_kinds[i].match, name))
            return &tn_device_kinds[i];
    return tn_device_kind_other();
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
