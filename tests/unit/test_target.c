/* Tests the kinds of GPU, and plans for devices that are not present. */
#include "common/testing.h"

#include "runtime/probe/capability.h"
#include "runtime/context/context.h"
#include "runtime/program/ptx_edit.h"
#include "runtime/context/target.h"

#include <tenon/conv.h>
#include <tenon/gemm.h>

#include <string.h>

TEST(nvidia_kind_by_compute_capability)
{
    static const struct {
        const char *card;
        uint32_t major, minor;
        const char *kind;
    } cards[] = {
        {"GeForce GTX 980", 5, 2, "other"},
        {"Tesla P100", 6, 0, "sm_60"},
        {"GeForce GTX 1080", 6, 1, "sm_61"},
        {"Jetson TX2", 6, 2, "sm_61"},
        {"Tesla V100", 7, 0, "sm_70"},
        {"Jetson Xavier", 7, 2, "sm_70"},
        {"Tesla T4", 7, 5, "sm_75"},
        {"A100", 8, 0, "sm_80"},
        {"GeForce RTX 3090", 8, 6, "sm_86"},
        {"Jetson Orin", 8, 7, "sm_86"},
        {"GeForce RTX 4090", 8, 9, "sm_89"},
        {"L40", 8, 9, "sm_89"},
        {"H100", 9, 0, "sm_90"},
        {"H200", 9, 0, "sm_90"},
        {"B200", 10, 0, "sm_100"},
        {"B300", 10, 3, "sm_100"},
        {"Jetson Thor", 11, 0, "sm_100"},
        {"GeForce RTX 5090", 12, 0, "sm_120"},
        {"DGX Spark (GB10)", 12, 1, "sm_120"},
        {"a driver that does not say", 0, 0, "other"},
    };
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const char *kind = tn_device_kind_of_nvidia(cards[i].major, cards[i].minor)->name;
        if (strcmp(kind, cards[i].kind) != 0)
            fail_msg("%s is treated as %s, not %s", cards[i].card, kind, cards[i].kind);
    }
}

TEST(amd_kind_by_name)
{
    static const char *const cards[][3] = {
        {"Radeon RX 580", "gfx803", "other"},
        {"Radeon RX Vega 64", "gfx900:xnack-", "gfx906"},
        {"Ryzen's Vega", "gfx90c:xnack-", "gfx906"},
        {"Radeon VII", "gfx906:sramecc-:xnack-", "gfx906"},
        {"Instinct MI100", "gfx908:sramecc+:xnack-", "gfx906"},
        {"Instinct MI210", "gfx90a:sramecc+:xnack-", "gfx90a"},
        {"Instinct MI300A, early", "gfx940", "gfx942"},
        {"Instinct MI300X", "gfx942:sramecc+:xnack-", "gfx942"},
        {"Instinct MI325X", "gfx942:sramecc+:xnack-", "gfx942"},
        {"Instinct MI355X", "gfx950:sramecc+:xnack-", "gfx950"},
        {"Radeon RX 5700", "gfx1010:xnack-", "gfx1030"},
        {"Radeon RX 6800", "gfx1030", "gfx1030"},
        {"Radeon RX 6600", "gfx1032", "gfx1030"},
        {"Radeon RX 7900", "gfx1100", "gfx1100"},
        {"Strix Halo", "gfx1151", "gfx1100"},
        {"Radeon RX 9070", "gfx1201", "gfx1201"},
        {"no GPU of AMD's", "some other device", "other"},
    };
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const char *kind = tn_device_kind_of_amd(cards[i][1])->name;
        if (strcmp(kind, cards[i][2]) != 0)
            fail_msg("%s is treated as %s, not %s", cards[i][0], kind, cards[i][2]);
    }
}

static uint32_t ip_version(uint32_t architecture, uint32_t release)
{
    return architecture << 22 | release << 14 | 3;
}

TEST(intel_kind_by_ip_version)
{
    static const struct {
        const char *card;
        uint32_t architecture, release;
        const char *kind;
    } cards[] = {
        {"UHD 630", 9, 9, "other"},     {"Iris Xe", 12, 0, "xe_lp"},
        {"Arc A770", 12, 55, "xe_hpg"}, {"Arc A380", 12, 56, "xe_hpg"},
        {"Max 1550", 12, 60, "xe_hpc"}, {"Max 1100", 12, 61, "xe_hpc"},
        {"Arc 8", 12, 71, "xe_lp"},     {"Arc B580", 20, 1, "xe_hpg"},
        {"Arc 140V", 20, 4, "xe_hpg"},
    };
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const uint32_t version = ip_version(cards[i].architecture, cards[i].release);
        const char *kind = tn_device_kind_of_intel(version)->name;
        if (strcmp(kind, cards[i].kind) != 0)
            fail_msg("%s is treated as %s, not %s", cards[i].card, kind, cards[i].kind);
    }
}

/* The first kernel of a plan; later kernels add up slices of K. */
typedef struct heard {
    int kernels;
    char source[64], options[512], kernel[64];
    size_t work_group;
} heard;

static void listen(void *user, const char *source, const char *options, const char *kernel,
                   size_t work_group)
{
    heard *h = user;
    if (h->kernels++ > 0)
        return;
    snprintf(h->source, sizeof h->source, "%s", source);
    snprintf(h->options, sizeof h->options, "%s", options);
    snprintf(h->kernel, sizeof h->kernel, "%s", kernel);
    h->work_group = work_group;
}

static tenon_context *target(const char *kind, heard *h)
{
    tenon_context *context;
    assert_int_equal(
        tn_target_context(tn_device_kind_named(kind), h != NULL ? listen : NULL, h, &context),
        TENON_OK);
    return context;
}

/* Copies the plan's solver, by name without parameters, and releases plan and context. */
static void close(tenon_context *context, tenon_plan *plan, const char *family, char name[64])
{
    char line[256];
    tenon_plan_describe(plan, line, sizeof line);
    const char *start = strstr(line, family);
    assert_non_null(start);
    snprintf(name, 64, "%.*s", (int)strcspn(start, ":, "), start);
    tenon_plan_release(plan);
    tenon_context_release(context);
}

TEST(plans_for_absent_devices)
{
    const int64_t shape[] = {512, 512};
    const tenon_tensor matrix = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    for (size_t k = 0; k < tn_device_kind_count; k++) {
        if (tn_device_kind_is_cpu(&tn_device_kinds[k]))
            continue;
        heard h = {0};
        tenon_context *context = target(tn_device_kinds[k].name, &h);
        tenon_plan *plan;
        params.solver = "gemm/tiled";
        assert_int_equal(
            tenon_gemm_plan(context, &params, &matrix, &matrix, NULL, NULL, &matrix, &plan),
            TENON_OK);
        assert_int_equal(h.kernels, 1);
        assert_string_equal(h.source, "gemm/tiled");
        assert_string_equal(h.kernel, "gemm_tiled");
        assert_non_null(strstr(h.options, "-DTENON_MB="));
        assert_true(h.work_group > 0 && h.work_group <= context->device.info.max_work_group);
        tenon_plan_release(plan);
        tenon_context_release(context);
    }
}

/* Returns the solver of a large product, by name without parameters, and its first kernel; on a
 * device that also has wgmma if `wgmma`, otherwise on the default one. */
static void chosen_with(bool wgmma, const char *kind, tenon_dtype dtype, uint32_t flags,
                        char name[64], heard *h)
{
    const int64_t shape[] = {2048, 2048};
    const tenon_tensor matrix = tenon_tensor_view(dtype, 2, shape);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_context *context = target(kind, h);
    tenon_plan *plan;
    params.flags = flags;
    if (wgmma)
        tn_capability_set(context, TENON_CAPABILITY_NVIDIA_WGMMA, 0);
    assert_int_equal(
        tenon_gemm_plan(context, &params, &matrix, &matrix, NULL, NULL, &matrix, &plan), TENON_OK);
    close(context, plan, "gemm/", name);
}

static void chosen(const char *kind, tenon_dtype dtype, uint32_t flags, char name[64], heard *h)
{
    chosen_with(false, kind, dtype, flags, name, h);
}

TEST(large_products_run_on_matrix_units)
{
    static const struct {
        const char *kind;
        const char *solver;
    } units[] = {
        {"sm_80", "gemm/mma"},   {"sm_86", "gemm/mma"},    {"sm_89", "gemm/mma"},
        {"sm_90", "gemm/mma"},   {"sm_100", "gemm/mma"},   {"gfx90a", "gemm/mfma"},
        {"gfx942", "gemm/mfma"}, {"gfx1100", "gemm/wmma"}, {"gfx1201", "gemm/wmma"},
        {"xe_hpg", "gemm/xmx"},  {"xe_hpc", "gemm/xmx"},
    };
    char name[64];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int dtype = TENON_DTYPE_F16; dtype <= TENON_DTYPE_BF16; dtype++) {
            heard h = {0};
            chosen(units[i].kind, (tenon_dtype)dtype, 0, name, &h);
            assert_string_equal(name, units[i].solver);
            assert_string_equal(h.source, "gemm/matrix");
            assert_null(strstr(h.options, "-DTENON_EMULATE=1"));
        }
}

TEST(hopper_prefers_wgmma)
{
    char name[64];
    for (int dtype = TENON_DTYPE_F16; dtype <= TENON_DTYPE_BF16; dtype++) {
        heard h = {0};
        chosen("sm_90a", (tenon_dtype)dtype, 0, name, &h);
        assert_string_equal(name, "gemm/wgmma");
        assert_non_null(strstr(h.options, "-DTENON_UNIT=7 "));
        assert_int_equal(h.work_group, 256);
    }
}

/* Returns the solver of a convolution of images with contiguous channels, and its kernel. */
static void chosen_for_images(const char *kind, char name[64], heard *h)
{
    const int64_t image[] = {32, 128, 56, 56}, filter[] = {256, 128, 3, 3},
                  out[] = {32, 256, 56, 56};
    const int64_t of_x[] = {128 * 56 * 56, 1, 128 * 56, 128}, of_w[] = {128 * 9, 1, 128 * 3, 128},
                  of_y[] = {256 * 56 * 56, 1, 256 * 56, 256};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F16, 4, image),
                 w = tenon_tensor_view(TENON_DTYPE_F16, 4, filter),
                 y = tenon_tensor_view(TENON_DTYPE_F16, 4, out);
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_context *context = target(kind, h);
    tenon_plan *plan;
    memcpy(x.stride, of_x, sizeof of_x);
    memcpy(w.stride, of_w, sizeof of_w);
    memcpy(y.stride, of_y, sizeof of_y);
    for (int d = 0; d < 2; d++)
        params.geometry.pad_begin[d] = params.geometry.pad_end[d] = 1;
    assert_int_equal(tenon_conv_forward_plan(context, &params, &x, &w, NULL, NULL, &y, &plan),
                     TENON_OK);
    close(context, plan, "conv/", name);
}

/* The kernel stores vectors of the result along its channels. In edited PTX only the blocks' array
 * grows, not the kernel's other local memory. */
TEST(hopper_prefers_wgmma_for_images)
{
    char name[64];
    heard native = {0}, edited = {0}, without = {0};
    chosen_for_images("sm_90a", name, &native);
    assert_string_equal(name, "conv/implicit_wgmma");
    assert_string_equal(native.source, "conv/forward/implicit_matrix");
    assert_non_null(strstr(native.options, "-DTENON_MB=128 -DTENON_NB=256 -DTENON_KB=64 "));
    assert_non_null(strstr(native.options, "-DTENON_UNIT=7 "));
    assert_non_null(strstr(native.options, "-DTENON_STAGES=4 "));
    assert_non_null(strstr(native.options, "-DTENON_D_ALONG=1"));
    assert_int_equal(native.work_group, 256);
    chosen_for_images("sm_90_edited", name, &edited);
    assert_string_equal(name, "conv/implicit_wgmma");
    assert_non_null(strstr(edited.options, TN_PTX_LOCAL_OPTION "196608"));
    chosen_for_images("sm_90", name, &without);
    assert_string_equal(name, "conv/implicit_matrix");
}

/* The full local memory is available through an array if the driver compiles for sm_90a, and
 * through edited PTX if it does not. With only the size that the driver reports, such large blocks
 * are not used. */
TEST(hopper_uses_its_full_local_memory)
{
    char name[64];
    heard native = {0}, edited = {0}, little = {0};
    chosen("sm_90a", TENON_DTYPE_F16, 0, name, &native);
    chosen("sm_90_edited", TENON_DTYPE_F16, 0, name, &edited);
    chosen_with(true, "sm_90", TENON_DTYPE_F16, 0, name, &little);
    assert_non_null(strstr(native.options, "-DTENON_MB=128 -DTENON_NB=256 -DTENON_KB=64 "));
    assert_non_null(strstr(native.options, "-DTENON_STAGES=4 "));
    assert_null(strstr(native.options, "TENON_LOCAL_METHOD"));
    assert_null(strstr(native.options, "TENON_PTX_EDIT"));
    assert_non_null(strstr(edited.options, "-DTENON_MB=128 -DTENON_NB=256 -DTENON_KB=64 "));
    assert_non_null(strstr(edited.options, "-cl-std=CL1.2 -DTENON_PTX_EDIT=1 "));
    assert_non_null(strstr(edited.options, " -DTENON_LOCAL_METHOD=2 "));
    assert_non_null(strstr(edited.options, " -DTENON_LOCAL_ENLARGED=196608"));
    assert_null(strstr(little.options, "-DTENON_KB=64 "));
    assert_null(strstr(little.options, "TENON_LOCAL_METHOD"));
}

TEST(gpus_without_matrix_units)
{
    static const char *const without[] = {"other",  "sm_60",   "sm_61", "sm_70",
                                          "gfx906", "gfx1030", "xe_lp"};
    char name[64];
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        heard h = {0};
        chosen(without[i], TENON_DTYPE_F16, 0, name, &h);
        assert_string_not_equal(h.source, "gemm/matrix");
    }
}

/* f32 products do not lose precision unless the caller allows it. */
TEST(tf32_requires_a_flag)
{
    char name[64];
    heard h = {0};
    chosen("sm_80", TENON_DTYPE_F32, 0, name, &h);
    assert_string_not_equal(h.source, "gemm/matrix");
    chosen("sm_80", TENON_DTYPE_F32, TENON_GEMM_ALLOW_TF32, name, &h);
    assert_string_equal(name, "gemm/mma");
    chosen("sm_80", TENON_DTYPE_F32, TENON_GEMM_ALLOW_TF32 | TENON_GEMM_BATCH_INVARIANT, name, &h);
    assert_string_not_equal(name, "gemm/mma");
}

/* A solver that would never be chosen on the target is refused, because it does not show what would
 * be built. */
TEST(solvers_for_other_devices_are_refused)
{
    const int64_t shape[] = {512, 512};
    const tenon_tensor matrix = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    heard h = {0};
    tenon_context *context = target("sm_90", &h);
    tenon_plan *plan;
    params.solver = "gemm/cpu_packed";
    assert_int_equal(
        tenon_gemm_plan(context, &params, &matrix, &matrix, NULL, NULL, &matrix, &plan),
        TENON_ERROR_UNSUPPORTED);
    assert_int_equal(h.kernels, 0);
    tenon_context_release(context);
}

TEST(trials_of_a_target)
{
    heard h = {0};
    tenon_context *context = target("gfx1201", &h);
    tn_trial_build build;
    uint32_t types = 0;
    assert_true(tn_capability_trial(context, TENON_CAPABILITY_F64, 0, &build));
    assert_string_equal(build.source, "capability/f64");
    assert_string_equal(build.options, "-cl-std=CL1.2");
    assert_false(tn_capability_trial(context, TENON_CAPABILITY_F64, 1, &build));
    for (; tn_capability_trial(context, TENON_CAPABILITY_AMD_WMMA, types, &build); types++)
        assert_non_null(strstr(build.options, "-DTENON_UNIT=4 "));
    assert_true(types > 1);
    assert_false(tn_capability_trial(context, TENON_CAPABILITY_NVIDIA_MMA, 0, &build));
    tenon_context_release(context);
}

TEST(vector_widths_of_cpu_kinds)
{
    static const char *const kinds[] = {"cpu_4", "cpu_8", "cpu_16"};
    for (uint32_t i = 0; i < 3; i++) {
        tenon_context *context = target(kinds[i], NULL);
        assert_true(context->device.is_cpu);
        assert_int_equal(context->device.info.vector_width_f32, 4 << i);
        assert_int_equal(context->device.vector_width_f64, 2 << i);
        tenon_context_release(context);
    }
}

TEST(capabilities_of_each_kind)
{
    static const struct {
        const char *kind;
        tenon_capability capability;
        int form;
    } expected[] = {
        {"other", TENON_CAPABILITY_NVIDIA_MMA, -1},
        {"sm_60", TENON_CAPABILITY_INT8_DOT, -1},
        {"sm_60", TENON_CAPABILITY_NVIDIA_MMA_TURING, -1},
        {"sm_70", TENON_CAPABILITY_INT8_DOT, 1},
        {"sm_70", TENON_CAPABILITY_NVIDIA_MMA_TURING, -1},
        {"sm_120", TENON_CAPABILITY_NVIDIA_MMA, 0},
        {"sm_120", TENON_CAPABILITY_NVIDIA_WGMMA, -1},
        {"sm_75", TENON_CAPABILITY_NVIDIA_MMA, -1},
        {"sm_75", TENON_CAPABILITY_NVIDIA_MMA_TURING, 0},
        {"sm_75", TENON_CAPABILITY_NVIDIA_LDMATRIX, 0},
        {"sm_75", TENON_CAPABILITY_NVIDIA_CP_ASYNC, -1},
        {"sm_80", TENON_CAPABILITY_NVIDIA_MMA, 0},
        {"sm_80", TENON_CAPABILITY_NVIDIA_CP_ASYNC, 0},
        {"sm_90", TENON_CAPABILITY_NVIDIA_WGMMA, -1},
        {"gfx906", TENON_CAPABILITY_AMD_MFMA, -1},
        {"gfx90a", TENON_CAPABILITY_AMD_MFMA, 0},
        {"gfx942", TENON_CAPABILITY_AMD_MFMA, 0},
        {"gfx950", TENON_CAPABILITY_AMD_MFMA, 0},
        {"gfx1030", TENON_CAPABILITY_AMD_WMMA, -1},
        {"gfx1100", TENON_CAPABILITY_AMD_WMMA, 0},
        {"gfx1201", TENON_CAPABILITY_AMD_WMMA, 1},
        {"xe_lp", TENON_CAPABILITY_INTEL_MATRIX, -1},
        {"xe_hpg", TENON_CAPABILITY_INTEL_MATRIX, 1},
        {"xe_hpc", TENON_CAPABILITY_INTEL_MATRIX, 0},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        tenon_context *context = target(expected[i].kind, NULL);
        assert_int_equal(tn_capability_form(context, expected[i].capability), expected[i].form);
        assert_int_equal(tn_context_has(context, expected[i].capability), expected[i].form >= 0);
        tenon_context_release(context);
    }
}

/* A device treated as another kind keeps its own capabilities and chooses by the other kind's
 * tables. */
TEST(device_treated_as_another_kind)
{
    heard h = {0};
    tenon_context *device = target("sm_90a", &h), *like;
    device->memory.workspace_limit = 12345;
    assert_int_equal(tn_target_like(device, tn_device_kind_named("xe_hpc"), listen, &h, &like),
                     TENON_OK);
    assert_string_equal(like->device.model.kind->name, "xe_hpc");
    assert_string_equal(like->device.info.name, "sm_90a");
    assert_int_equal(like->memory.workspace_limit, 12345);
    for (int i = 0; i < TN_CAPABILITY_COUNT; i++)
        assert_int_equal(tn_context_has(like, (tenon_capability)i),
                         tn_context_has(device, (tenon_capability)i));
    tenon_context_release(like);
    tenon_context_release(device);
}
