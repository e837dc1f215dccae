#include "runtime/target.h"

#include "runtime/context.h"

#include <stdio.h>

#define CAN(capability) (1u << TENON_CAPABILITY_##capability)
#define NVIDIA          (CAN(HARDWARE_FMA) | CAN(F64) | CAN(INT8_DOT) | CAN(NVIDIA_PTX))
#define TURING          (NVIDIA | CAN(NVIDIA_MMA_TURING) | CAN(NVIDIA_LDMATRIX))
#define AMPERE          (TURING | CAN(NVIDIA_MMA) | CAN(NVIDIA_CP_ASYNC))
#define AMD             (CAN(HARDWARE_FMA) | CAN(F64) | CAN(F16))
#define INTEL           (CAN(HARDWARE_FMA) | CAN(F16) | CAN(SUB_GROUPS))

/* A usual device of each kind; its driver gives a work-group so much local memory. */
static const struct {
    uint32_t units;
    uint64_t memory, local_memory; /* GiB; KiB */
    size_t max_work_group;
    uint32_t capabilities, least_sub_group;
} targets[TN_ARCH_COUNT] = {
    [TN_ARCH_OTHER] = {16, 2, 32, 256, 0},
    [TN_ARCH_SM_75] = {40, 16, 48, 1024, TURING},
    [TN_ARCH_SM_80] = {108, 40, 48, 1024, AMPERE},
    [TN_ARCH_SM_86] = {68, 10, 48, 1024, AMPERE},
    [TN_ARCH_SM_89] = {128, 24, 48, 1024, AMPERE},
    [TN_ARCH_SM_90] = {132, 80, 48, 1024, AMPERE},
    [TN_ARCH_SM_100] = {148, 180, 48, 1024, AMPERE},
    [TN_ARCH_GFX906] = {60, 16, 64, 256, AMD},
    [TN_ARCH_GFX90A] = {104, 64, 64, 256, AMD | CAN(AMD_MFMA)},
    [TN_ARCH_GFX942] = {304, 192, 64, 256, AMD | CAN(AMD_MFMA)},
    [TN_ARCH_GFX1030] = {40, 16, 64, 256, AMD},
    [TN_ARCH_GFX1100] = {48, 24, 64, 256, AMD | CAN(AMD_WMMA)},
    [TN_ARCH_GFX1201] = {32, 16, 64, 256, AMD | CAN(AMD_WMMA)},
    [TN_ARCH_XE_LP] = {96, 8, 64, 512, INTEL, 8},
    [TN_ARCH_XE_HPG] = {512, 16, 64, 1024, INTEL | CAN(INTEL_MATRIX), 8},
    [TN_ARCH_XE_HPC] = {512, 64, 128, 1024, INTEL | CAN(F64) | CAN(INTEL_MATRIX), 16},
};

static tn_device describe(tn_arch arch)
{
    const uint64_t memory = targets[arch].memory << 30;
    tn_device device = {.opencl_version = 120,
                        .vector_width_f64 = 1,
                        .cache_size = UINT64_C(4) << 20,
                        .address_align = 128,
                        .arch = arch,
                        .least_sub_group = targets[arch].least_sub_group,
                        .has_compiler = true};
    for (int d = 0; d < 3; d++)
        device.max_work_item[d] = targets[arch].max_work_group;
    device.info = (tenon_device_info){.type = CL_DEVICE_TYPE_GPU,
                                      .compute_units = targets[arch].units,
                                      .vector_width_f32 = 1,
                                      .global_memory = memory,
                                      .max_allocation = memory / 4,
                                      .local_memory = targets[arch].local_memory << 10,
                                      .max_work_group = targets[arch].max_work_group};
    snprintf(device.info.name, sizeof device.info.name, "%s", tn_arch_facts_of(arch)->name);
    snprintf(device.info.version, sizeof device.info.version, "OpenCL 1.2");
    return device;
}

/* NVIDIA's compiler has the products of bytes by inline PTX. Arc's sub-groups have 8 work-items. No
 * driver is known to compile OpenCL C for the instructions of sm_90a alone. */
static int form_of(tn_arch arch, tenon_capability capability)
{
    if ((targets[arch].capabilities >> capability & 1) == 0)
        return -1;
    return (capability == TENON_CAPABILITY_INT8_DOT &&
            (targets[arch].capabilities & NVIDIA) == NVIDIA) ||
           (capability == TENON_CAPABILITY_INTEL_MATRIX && arch == TN_ARCH_XE_HPG) ||
           (capability == TENON_CAPABILITY_AMD_WMMA && arch == TN_ARCH_GFX1201);
}

tenon_status tn_target_context(tn_arch arch, tn_kernel_listener listener, void *user,
                               tenon_context **out)
{
    const tn_device device = describe(arch);
    TN_TRY(tn_context_without_device("tn_target_context", &device, out));
    for (int i = 0; i < TENON_CAPABILITY_COUNT; i++)
        tn_capability_set(*out, (tenon_capability)i, form_of(arch, (tenon_capability)i));
    (*out)->only_chosen = true;
    (*out)->programs.listener = listener;
    (*out)->programs.listener_user = user;
    return TENON_OK;
}
