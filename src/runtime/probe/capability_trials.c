#include "runtime/probe/capability_trials.h"

#include "runtime/program/ptx_edit.h"

static const char *never_ruled_out(const tn_device *device)
{
    (void)device;
    return NULL;
}

/* NVIDIA's compiler accepts half arithmetic without listing the extension. Other drivers are not
 * tried, since PoCL's compiler prints its errors to stderr. */
static const char *without_f16(const tn_device *device)
{
    return device->speaks_f16 || device->speaks_nvidia ? NULL
                                                       : "the driver does not support cl_khr_fp16";
}

static const char *without_f64(const tn_device *device)
{
    return device->speaks_f64 || device->opencl_version >= 120
               ? NULL
               : "the driver does not support cl_khr_fp64";
}

static const char *without_sub_groups(const tn_device *device)
{
    return device->speaks_khr_subgroups || device->speaks_intel_subgroups
               ? NULL
               : "the driver supports neither cl_khr_subgroups nor cl_intel_subgroups";
}

static const char *without_dot(const tn_device *device)
{
    return device->speaks_int_dot || device->speaks_nvidia
               ? NULL
               : "the driver does not support cl_khr_integer_dot_product";
}

static const char *without_nvidia(const tn_device *device)
{
    return device->speaks_nvidia ? NULL : "not NVIDIA's compiler";
}

static const char *without_amd(const tn_device *device)
{
    return device->speaks_amd ? NULL : "not AMD's compiler";
}

static const char *without_intel_matrix(const tn_device *device)
{
    return device->speaks_intel_matrix
               ? NULL
               : "the driver does not support cl_intel_subgroup_matrix_multiply_accumulate";
}

/* Such instructions are in inline assembly, which no compiler checks. A device of another host may
 * have another processor. PoCL since 5 ends the process while it creates the binary of a program
 * with inline assembly (docs/drivers.md). */
static const char *without_x86(const tn_device *device)
{
    if (!device->is_host)
        return "not the processor of this host";
    return device->miscompiles_at_random ? "PoCL's compiler fails for inline assembly" : NULL;
}

#define TRIAL(title, kernel, rules_out, when_found, ...)                                           \
    {                                                                                              \
        .name = (title), .source = (kernel), .options = {__VA_ARGS__}, .ruled_out = (rules_out),   \
        .found = (when_found)                                                                      \
    }
/* The trial of a matrix unit; `first` and `second` are the options of its two forms. */
#define UNIT_TRIAL(title, rules_out, version, first, second, all_types)                            \
    {                                                                                              \
        .name = (title), .source = "capability/matrix",                                            \
        .options = {(version), (second) != NULL ? (version) : NULL}, .ruled_out = (rules_out),     \
        .found = "the products are correct", .items = 64, .further = {(first), (second)},          \
        .types = (all_types)                                                                       \
    }

/* Intel's units with sub-groups of 16, then of 8. First with the registers of two threads for one,
 * since the sums and factors of a block do not fit into half of them, and with block reads (for
 * sub-groups of 16, two-dimensional ones first); then without. */
#define XMX_REGISTERS " -cl-intel-256-GRF-per-thread -DTENON_BLOCK_READ=1"
#define XMX_WAYS(version)                                                                          \
    version XMX_REGISTERS " -DTENON_BLOCK_2D=1", version XMX_REGISTERS, version XMX_REGISTERS,     \
        version XMX_REGISTERS, version, version

const tn_trial tn_trials[TN_CAPABILITY_COUNT] = {
    [TENON_CAPABILITY_F64] = TRIAL("f64", "capability/f64", without_f64, "arithmetic is correct",
                                   TN_MIN_VERSION, TN_MIN_VERSION " -DTENON_CUSTOM_EXP=1"),
    [TENON_CAPABILITY_F16] =
        TRIAL("f16", "capability/f16", without_f16, "arithmetic is correct", TN_MIN_VERSION),
    [TENON_CAPABILITY_HARDWARE_FMA] =
        TRIAL("hardware_fma", "capability/fma", never_ruled_out,
              "the compiler reports that it is an instruction", TN_MIN_VERSION),
    [TENON_CAPABILITY_SUB_GROUPS] =
        TRIAL("sub_groups", "capability/sub_groups", without_sub_groups,
              "broadcast and sum are correct", "-cl-std=CL3.0", "-cl-std=CL2.0"),
    [TENON_CAPABILITY_NONTEMPORAL_STORE] =
        TRIAL("nontemporal_store", "capability/nontemporal_store", never_ruled_out,
              "the compiler supports the store", TN_MIN_VERSION),
    [TENON_CAPABILITY_INT8_DOT] =
        TRIAL("int8_dot", "capability/int8_dot", without_dot, "the product is correct",
              "-cl-std=CL3.0 -DDIALECT=0", "-cl-std=CL1.2 -DDIALECT=1"),
    [TENON_CAPABILITY_NVIDIA_PTX] = TRIAL("nvidia_ptx", "capability/nvidia_ptx", without_nvidia,
                                          "the lane's number is correct", TN_MIN_VERSION),
    [TENON_CAPABILITY_NVIDIA_MMA] =
        UNIT_TRIAL("nvidia_mma", without_nvidia, TN_MIN_VERSION, "-DTENON_UNIT=1", NULL, "1234"),
    [TENON_CAPABILITY_INTEL_MATRIX] = {.name = "intel_matrix",
                                       .source = "capability/matrix",
                                       .options = {XMX_WAYS("-cl-std=CL2.0"),
                                                   XMX_WAYS("-cl-std=CL3.0"),
                                                   XMX_WAYS("-cl-std=CL1.2")},
                                       .ruled_out = without_intel_matrix,
                                       .found = "the products are correct",
                                       .items = 64,
                                       .beside = 256,
                                       .further = {"-DTENON_UNIT=5", "-DTENON_UNIT=6"},
                                       .types = "124"},
    [TENON_CAPABILITY_NVIDIA_MMA_TURING] =
        UNIT_TRIAL("nvidia_mma_turing", without_nvidia, TN_MIN_VERSION,
                   "-DTENON_UNIT=1 -DTENON_UNIT_SPLIT=1", NULL, "14"),
    [TENON_CAPABILITY_NVIDIA_LDMATRIX] =
        UNIT_TRIAL("nvidia_ldmatrix", without_nvidia, TN_MIN_VERSION,
                   "-DTENON_UNIT=1 -DTENON_UNIT_SPLIT=1 -DTENON_LDMATRIX=1", NULL, "14"),
    [TENON_CAPABILITY_NVIDIA_CP_ASYNC] =
        TRIAL("nvidia_cp_async", "capability/cp_async", without_nvidia,
              "copies and zeros are correct", TN_MIN_VERSION),
    [TENON_CAPABILITY_NVIDIA_WGMMA] = {.name = "nvidia_wgmma",
                                       .source = "capability/wgmma",
                                       .options = {TN_MIN_VERSION,
                                                   TN_MIN_VERSION " " TN_PTX_OPTION},
                                       .ruled_out = without_nvidia,
                                       .found = "the product is correct",
                                       .items = 128},
    [TENON_CAPABILITY_AMD_MFMA] =
        UNIT_TRIAL("amd_mfma", without_amd, TN_MIN_VERSION, "-DTENON_UNIT=2", NULL, "1245"),
    [TENON_CAPABILITY_AMD_WMMA] = UNIT_TRIAL("amd_wmma", without_amd, TN_MIN_VERSION,
                                             "-DTENON_UNIT=3", "-DTENON_UNIT=4", "124"),
    /* First form: bytes, second form: 16-bit integers. */
    [TENON_CAPABILITY_X86_DOT] =
        {.name = "x86_dot",
         .source = "capability/x86_dot",
         .options = {TN_MIN_VERSION " -DTENON_DOT=2", TN_MIN_VERSION " -DTENON_DOT=4",
                     TN_MIN_VERSION " -DTENON_DOT=3", TN_MIN_VERSION " -DTENON_DOT=5"},
         .features = {"avx512_vnni avx512vl", "avx512bw avx512vl", "avx_vnni", "avx2"},
         .ruled_out = without_x86,
         .found = "the sums are correct"},
};
