/* Tests how devices of all vendors are recognized from the information of their drivers, which are
 * simulated. */
#include "common/cl_faults.h"
#include "runtime.h"

#include "runtime/context/context.h"
#include "runtime/opencl/device.h"

#include <CL/cl_ext.h>

#ifndef CL_DEVICE_IP_VERSION_INTEL
#define CL_DEVICE_IP_VERSION_INTEL 0x4250
#endif

enum { LEAST_SIZES = 3 };

typedef struct card {
    const char *name, *extensions;
    cl_uint major, minor; /* NVIDIA's compute capability */
    cl_uint ip_version;   /* Intel's */
    size_t sub_groups[LEAST_SIZES];
    /* Expected values. */
    const char *kind;
    uint32_t least_sub_group;
    bool nvidia, amd, intel;
} card;

#define IP_VERSION(architecture, release) ((architecture) << 22 | (release) << 14)

static const card cards[] = {
    {.name = "H100",
     .extensions = "cl_khr_fp64 cl_nv_compiler_options cl_nv_device_attribute_query",
     .major = 9,
     .kind = "sm_90",
     .nvidia = true},
    {.name = "A100",
     .extensions = "cl_nv_device_attribute_query cl_nv_compiler_options",
     .major = 8,
     .kind = "sm_80",
     .nvidia = true},
    {.name = "gfx942:sramecc+:xnack-",
     .extensions = "cl_khr_fp16 cl_amd_device_attribute_query",
     .kind = "gfx942",
     .amd = true},
    {.name = "Max 1550",
     .extensions = "cl_intel_subgroups cl_intel_required_subgroup_size "
                   "cl_intel_device_attribute_query",
     .ip_version = IP_VERSION(12u, 60u),
     .sub_groups = {32, 16, 0},
     .kind = "xe_hpc",
     .least_sub_group = 16,
     .intel = true},
    {.name = "A770",
     .extensions = "cl_intel_device_attribute_query cl_intel_required_subgroup_size",
     .ip_version = IP_VERSION(12u, 55u),
     .sub_groups = {8, 16, 32},
     .kind = "xe_hpg",
     .least_sub_group = 8},
    {.name = "Mali-G78", .extensions = "cl_khr_fp16 cl_arm_core_id cl_arm_printf", .kind = "mali"},
    {.name = "Adreno 730", .extensions = "cl_qcom_perf_hint cl_khr_fp16", .kind = "adreno"},
    /* Extension names are compared as whole words. */
    {.name = "another",
     .extensions = "cl_nv_device_attribute_query_2 xcl_intel_device_attribute_query",
     .major = 9,
     .ip_version = IP_VERSION(12u, 60u),
     .kind = "other"},
    {.name = "another", .extensions = "", .kind = "other"}};

enum { ANSWERS = 7 };

static void describe(const card *c, const cl_device_type *type, faults_answer answers[ANSWERS])
{
    const faults_answer list[ANSWERS] = {
        {CL_DEVICE_TYPE, type, sizeof *type},
        {CL_DEVICE_NAME, c->name, strlen(c->name) + 1},
        {CL_DEVICE_EXTENSIONS, c->extensions, strlen(c->extensions) + 1},
        {CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, &c->major, sizeof c->major},
        {CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, &c->minor, sizeof c->minor},
        {CL_DEVICE_IP_VERSION_INTEL, &c->ip_version, sizeof c->ip_version},
        {CL_DEVICE_SUB_GROUP_SIZES_INTEL, c->sub_groups, sizeof c->sub_groups},
    };
    memcpy(answers, list, sizeof list);
}

static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;

static tenon_status read_card(const card *c, tn_device *device)
{
    faults_answer answers[ANSWERS];
    describe(c, &gpu, answers);
    faults_give_device(answers, ANSWERS);
    const tenon_status status =
        tn_device_read("tenon_test", test_context->device.info.device, device);
    faults_give_device(NULL, 0);
    return status;
}

TEST(kinds_follow_from_what_drivers_say)
{
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const card *c = &cards[i];
        tn_device device;
        assert_ok(read_card(c, &device));
        assert_string_equal(device.info.name, c->name);
        if (strcmp(device.model.kind->name, c->kind) != 0)
            fail_msg("%s is treated as %s, not %s", c->name, device.model.kind->name, c->kind);
        assert_int_equal(device.least_sub_group, c->least_sub_group);
        assert_int_equal(device.speaks_nvidia, c->nvidia);
        assert_int_equal(device.speaks_amd, c->amd);
        assert_int_equal(device.speaks_intel_subgroups, c->intel);
        assert_false(device.is_cpu);
        assert_false(device.has_builtin_prefetch);
    }
}

/* An attribute unknown to the driver counts as 0; lack of memory is an error. */
TEST(attributes_may_be_unknown)
{
    static const struct {
        int card;
        cl_uint what;
        const char *name, *kind;
    } attributes[] = {
        {0, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, "CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV",
         "other"},
        {0, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, "CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV",
         "sm_90"},
        {3, CL_DEVICE_IP_VERSION_INTEL, "CL_DEVICE_IP_VERSION_INTEL", "other"},
        {3, CL_DEVICE_SUB_GROUP_SIZES_INTEL, "CL_DEVICE_SUB_GROUP_SIZES_INTEL", "xe_hpc"},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const card *c = &cards[attributes[i].card];
        tn_device device;
        faults_fail_query("clGetDeviceInfo", attributes[i].what, CL_INVALID_VALUE);
        assert_ok(read_card(c, &device));
        assert_int_equal(faults_end(), 1);
        assert_string_equal(device.model.kind->name, attributes[i].kind);
        if (attributes[i].what == CL_DEVICE_SUB_GROUP_SIZES_INTEL)
            assert_int_equal(device.least_sub_group, 0);
        faults_fail_query("clGetDeviceInfo", attributes[i].what, CL_OUT_OF_HOST_MEMORY);
        assert_refused(read_card(c, &device), TENON_ERROR_OUT_OF_MEMORY, "tenon_test",
                       attributes[i].name);
        assert_int_equal(faults_end(), 1);
    }
}
