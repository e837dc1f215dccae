#include "runtime/arch.h"

#include <stddef.h>
#include <string.h>

/* From the vendors' published figures: compute capabilities' table of NVIDIA's CUDA C++ Programming
 * Guide and data sheets; AMD's CDNA and RDNA white papers; Intel's oneAPI GPU optimization guide.
 * An Intel compute unit is a vector engine, of which a Xe-core (Xe-LP: a dual subslice) has
 * several. */
static const tn_arch_facts facts[TN_ARCH_COUNT] = {
    [TN_ARCH_OTHER] = {"other", 0, 32, 1, 0, 1.0, 100},
    [TN_ARCH_SM_75] = {"sm_75", 32, 64, 1, 512, 1.6, 320},
    [TN_ARCH_SM_80] = {"sm_80", 32, 64, 1, 1024, 1.4, 1555},
    [TN_ARCH_SM_86] = {"sm_86", 32, 128, 1, 256, 1.7, 760},
    [TN_ARCH_SM_89] = {"sm_89", 32, 128, 1, 256, 2.5, 1008},
    [TN_ARCH_SM_90] = {"sm_90", 32, 128, 1, 2048, 1.8, 3350},
    [TN_ARCH_SM_100] = {"sm_100", 32, 128, 1, 4096, 1.9, 8000},
    [TN_ARCH_GFX906] = {"gfx906", 64, 64, 1, 0, 1.7, 1024},
    [TN_ARCH_GFX90A] = {"gfx90a", 64, 64, 1, 512, 1.7, 1638},
    [TN_ARCH_GFX942] = {"gfx942", 64, 128, 1, 1024, 2.1, 5300},
    [TN_ARCH_GFX1030] = {"gfx1030", 32, 64, 1, 0, 2.2, 512},
    [TN_ARCH_GFX1100] = {"gfx1100", 32, 64, 1, 512, 2.4, 960},
    [TN_ARCH_GFX1201] = {"gfx1201", 32, 64, 1, 1024, 2.9, 640},
    [TN_ARCH_XE_LP] = {"xe_lp", 16, 8, 16, 0, 1.3, 60},
    [TN_ARCH_XE_HPG] = {"xe_hpg", 16, 8, 16, 64, 2.1, 560},
    [TN_ARCH_XE_HPC] = {"xe_hpc", 16, 16, 8, 256, 1.6, 3276},
};

const tn_arch_facts *tn_arch_facts_of(tn_arch arch)
{
    return &facts[arch];
}

tn_arch tn_arch_of_nvidia(uint32_t major, uint32_t minor)
{
    static const struct {
        uint32_t capability;
        tn_arch arch;
    } from[] = {{100, TN_ARCH_SM_100}, {90, TN_ARCH_SM_90}, {89, TN_ARCH_SM_89},
                {86, TN_ARCH_SM_86},   {80, TN_ARCH_SM_80}, {75, TN_ARCH_SM_75}};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        if (10 * major + minor >= from[i].capability)
            return from[i].arch;
    return TN_ARCH_OTHER;
}

tn_arch tn_arch_of_amd(const char *name)
{
    static const struct {
        const char *prefix;
        tn_arch arch;
    } from[] = {
        {"gfx906", TN_ARCH_GFX906},  {"gfx908", TN_ARCH_GFX906},  {"gfx90a", TN_ARCH_GFX90A},
        {"gfx94", TN_ARCH_GFX942},   {"gfx95", TN_ARCH_GFX942},   {"gfx103", TN_ARCH_GFX1030},
        {"gfx110", TN_ARCH_GFX1100}, {"gfx115", TN_ARCH_GFX1100}, {"gfx12", TN_ARCH_GFX1201}};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        if (strncmp(name, from[i].prefix, strlen(from[i].prefix)) == 0)
            return from[i].arch;
    return TN_ARCH_OTHER;
}

/* The version has an architecture and a release: 12.55 to 12.57 are Arc A, 12.60 and 12.61 Data
 * Center Max, 12.70 and 12.71 Meteor Lake, whose cores have no matrix units, 20 on Arc B. */
tn_arch tn_arch_of_intel(uint32_t ip_version)
{
    const uint32_t architecture = ip_version >> 22, release = ip_version >> 14 & 0xff;
    if (architecture > 12)
        return TN_ARCH_XE_HPG;
    if (architecture < 12)
        return TN_ARCH_OTHER;
    if (release == 60 || release == 61)
        return TN_ARCH_XE_HPC;
    return release < 55 || release == 70 || release == 71 ? TN_ARCH_XE_LP : TN_ARCH_XE_HPG;
}
