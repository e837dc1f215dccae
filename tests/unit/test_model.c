/* Tests the kinds of devices and the estimated time of work on them: device/kind.h and
 * device/model.h. */
#include "common/testing.h"

#include "device/model.h"
#include "gemm/args.h"
#include "runtime/probe/capability_trials.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool is_capability(const char *name)
{
    for (int i = 0; i < TN_CAPABILITY_COUNT; i++)
        if (strcmp(tn_trials[i].name, name) == 0)
            return true;
    return false;
}

static void check_usual(const tn_kind_usual *usual)
{
    assert_true(usual->compute_units > 0 && usual->max_work_group > 0 && usual->memory > 0);
    assert_true(usual->cache > 0 && usual->local_memory > 0);
    for (size_t i = 0; i < COUNT(usual->capabilities) && usual->capabilities[i] != NULL; i++)
        assert_true(is_capability(usual->capabilities[i]));
    for (size_t i = 0; i < COUNT(usual->second_forms) && usual->second_forms[i] != NULL; i++)
        assert_true(is_capability(usual->second_forms[i]));
}

static void check_cpu(const tn_device_kind *kind)
{
    assert_true(kind->lanes > 0 && kind->vector_registers > 0 && kind->cpu_tiles[0].mr > 0);
    assert_true(kind->steps.vector_element > 0 && kind->steps.single_element > 0);
    assert_true(kind->steps.row > 0 && kind->memory.cache > 0);
    assert_true(kind->reached.rate > 0 && kind->reached.memory > 0 && kind->reached.cache > 0);
    assert_true(kind->in_place.pages > 0 && kind->in_place.pages <= 1);
    assert_true(kind->in_place.unaligned > 0 && kind->in_place.unaligned <= 1);
    assert_int_equal(kind->cpu_tiles[COUNT(kind->cpu_tiles) - 1].vectors, 0);
}

static void check_assumed(const tn_kind_assumed *assumed)
{
    assert_true(strlen(assumed->source) > 10);
    assert_true(assumed->core_share >= 1 && assumed->fetching >= 1 && assumed->reading > 0);
    assert_true(assumed->loading > 0 && assumed->copying > 0);
    assert_true(assumed->mma > 0 && assumed->mma <= 1);
    assert_true(assumed->gathering >= 0 && assumed->gathered > 0 && assumed->gathered <= 1);
}

/* A kind file that omits a value and does not inherit it from another kind is incomplete. */
TEST(every_kind_is_complete)
{
    for (size_t k = 0; k < tn_device_kind_count; k++) {
        const tn_device_kind *kind = &tn_device_kinds[k];
        const tn_kind_memory *memory = &kind->memory;
        print_message("%s\n", kind->name);
        assert_true(strlen(kind->source) > 10 && kind->group_units > 0);
        assert_true(kind->rates.f32 > 0 && kind->rates.f64 > 0 && kind->rates.scalar > 0);
        assert_int_equal(kind->rates.matrix_16 > 0, kind->matrix.efficiency > 0);
        assert_int_equal(kind->matrix.efficiency > 0, kind->matrix.blocks[0].mb > 0);
        assert_int_equal(kind->copied.efficiency > 0, kind->copied.blocks[0].mb > 0);
        assert_int_equal(kind->copied.efficiency > 0, kind->memory.local > 0);
        assert_true(memory->bandwidth > 0 && memory->latency > 0 && memory->items > 0);
        assert_true(tn_device_kind_is_cpu(kind) || (memory->group >= 64 && memory->vectors >= 2));
        assert_true(memory->coalesced > 0 && memory->short_rows > 0);
        assert_true(memory->long_rows > 0 && memory->scattered > 0);
        if (!tn_device_kind_is_cpu(kind))
            check_assumed(&kind->assumed);
        assert_true(kind->launch.first > 0 && kind->launch.next > 0);
        for (int t = 0; t < 3; t++)
            assert_true(kind->tiled.f32[t].lb > 0 && kind->tiled.f64[t].lb > 0 &&
                        kind->tiled.small[t].lb > 0);
        for (size_t v = 0; v < COUNT(kind->cpu_rows); v++)
            assert_true(kind->cpu_rows[v] > 0);
        check_usual(&kind->usual);
        if (tn_device_kind_is_cpu(kind))
            check_cpu(kind);
    }
}

TEST(gpu_kind_by_extensions)
{
    static const char *const kinds[][2] = {
        {"cl_khr_fp16 cl_arm_core_id cl_khr_icd", "mali"},
        {"cl_qcom_perf_hint", "adreno"},
        {"cl_khr_icd cl_img_yuv_image ", "powervr"},
    };
    for (size_t i = 0; i < COUNT(kinds); i++)
        assert_string_equal(tn_device_kind_of_extensions(kinds[i][0])->name, kinds[i][1]);
    assert_null(tn_device_kind_of_extensions(""));
    assert_null(tn_device_kind_of_extensions("cl_khr_fp16 cl_arm_core_id_of_another arm_core_id"));
}

static void check_fits(const tn_device_kind *kind, const tn_kind_tile *tiles, size_t element)
{
    for (size_t t = 0; t < TN_KIND_TILES && tiles[t].mb > 0; t++) {
        const tn_kind_tile *tile = &tiles[t];
        const size_t rows = (size_t)(tile->mb + tile->nb) + 2 * GEMM_TILE_PADDING;
        assert_true(rows * (size_t)(tile->kb * tile->lb) * element <= kind->usual.local_memory);
        /* A kernel that uses many registers supports only work-groups smaller than the device
         * reports. */
        assert_true(tile->mb / tile->mr * (tile->nb / tile->nr) <= 128);
        assert_true(kind->usual.max_work_group >= 256);
        assert_true(tile->mr * tile->nr <= 16);
    }
}

/* Embedded GPUs have little local memory, few registers and small work-groups. */
TEST(tiles_of_embedded_gpus_are_safe)
{
    static const char *const names[] = {"adreno", "mali", "powervr"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const tn_device_kind *kind = tn_device_kind_named(names[i]);
        assert_non_null(kind);
        assert_true(kind->usual.local_memory <= 32768);
        check_fits(kind, kind->tiled.f32, 4);
        check_fits(kind, kind->tiled.f64, 8);
        check_fits(kind, kind->tiled.small, 4);
    }
}

TEST(cpu_kind_by_lanes)
{
    static const struct {
        uint32_t lanes;
        const char *kind;
    } cpus[] = {{0, "cpu_4"}, {1, "cpu_4"},   {4, "cpu_4"},   {7, "cpu_4"},
                {8, "cpu_8"}, {16, "cpu_16"}, {32, "cpu_16"}, {64, "cpu_16"}};
    for (size_t i = 0; i < COUNT(cpus); i++)
        assert_string_equal(tn_device_kind_of_cpu(cpus[i].lanes, 1 << 20)->name, cpus[i].kind);
}

TEST(cpu_kind_by_cache)
{
    static const tn_device_kind kinds[] = {
        {.name = "8, large", .match = {.cpu_lanes = 8, .cpu_cache = 64 << 20}},
        {.name = "16", .match = {.cpu_lanes = 16}},
        {.name = "gpu", .match = {.nvidia = 80}},
        {.name = "16, large", .match = {.cpu_lanes = 16, .cpu_cache = 64 << 20}},
        {.name = "16, medium", .match = {.cpu_lanes = 16, .cpu_cache = 32 << 20}},
        {.name = "4", .match = {.cpu_lanes = 1}},
    };
    static const struct {
        uint32_t lanes;
        uint64_t cache;
        const char *kind;
    } cpus[] = {{16, 0, "16"},
                {16, (32 << 20) - 1, "16"},
                {16, 32 << 20, "16, medium"},
                {32, (64 << 20) - 1, "16, medium"},
                {16, (uint64_t)1 << 40, "16, large"},
                {8, 64 << 20, "8, large"},
                {8, 32 << 20, "4"}};
    for (size_t i = 0; i < COUNT(cpus); i++)
        assert_string_equal(
            tn_device_kind_of_cpu_among(kinds, COUNT(kinds), cpus[i].lanes, cpus[i].cache)->name,
            cpus[i].kind);
}

/* Estimated time of work with these members. */
#define TIME(model, ...) tn_work_time(&(model), &(tn_work){__VA_ARGS__})

static tn_model model_of(const char *kind, double units)
{
    return (tn_model){tn_device_kind_named(kind), units, 32 << 20};
}

static void assert_near(double time, double expected)
{
    if (time < expected * 0.999 || time > expected * 1.001)
        fail_msg("%g ns, expected %g", time, expected);
}

TEST(time_of_launches_and_bytes)
{
    const tn_model gpu = model_of("sm_90", 132), cpu = model_of("cpu_16", 2);
    const tn_kind_memory *memory = &gpu.kind->memory;
    assert_near(TIME(gpu, .launches = 1), gpu.kind->launch.first);
    assert_near(TIME(gpu, .launches = 3), gpu.kind->launch.first + 2 * gpu.kind->launch.next);
    assert_near(TIME(gpu, .launches = 2, .follows = true), 2 * gpu.kind->launch.next);
    assert_near(TIME(gpu, .bytes = 1e9), 1e9 / memory->bandwidth / memory->coalesced);
    assert_near(TIME(gpu, .bytes = 1e9, .reads = TN_LONG_ROWS, .reach = 0.5),
                2e9 / memory->bandwidth / memory->long_rows);
    /* Half the work-items needed to saturate memory reach half its speed. */
    assert_near(TIME(gpu, .bytes = 1e9, .items = tn_model_items(&gpu) / 2),
                2e9 / memory->bandwidth / memory->coalesced);
    assert_near(TIME(cpu, .bytes = 1e6), 1e6 / cpu.kind->memory.cache / 2);
    assert_near(TIME(cpu, .bytes = 1e9), 1e9 / cpu.kind->memory.bandwidth);
    assert_near(TIME(cpu, .bytes = 1e9, .groups = 1), 2e9 / cpu.kind->memory.bandwidth);
    assert_near(TIME(cpu, .launches = 1, .blocks = true),
                cpu.kind->launch.first + cpu.kind->launch.blocks);
}

TEST(time_of_computation)
{
    const tn_model gpu = model_of("sm_90", 132), cpu = model_of("cpu_8", 4);
    const tn_kind_rates *rates = &gpu.kind->rates;
    assert_near(TIME(gpu, .multiply_adds = 1e12), 1e12 / 132 / rates->f32);
    assert_near(TIME(gpu, .multiply_adds = 1e12, .rate = TN_RATE_F64, .efficiency = 0.5),
                2e12 / 132 / rates->f64);
    for (uint32_t bits = 8; bits <= 32; bits *= 2)
        assert_near(TIME(gpu, .multiply_adds = 1e12, .rate = TN_RATE_MATRIX, .bits = bits),
                    1e12 / 132 / (bits == 32 ? rates->matrix_32 : rates->matrix_16 * 16 / bits));
    assert_near(TIME(cpu, .vector_elements = 1e6), 1e6 / 4 * cpu.kind->steps.vector_element);
    assert_near(TIME(cpu, .vector_elements = 1e6, .rate = TN_RATE_F64),
                2e6 / 4 * cpu.kind->steps.vector_element);
    assert_near(TIME(cpu, .single_elements = 1e6, .rows = 1e3),
                (1e6 * cpu.kind->steps.single_element + 1e3 * cpu.kind->steps.row) / 4);
}

/* Local memory and loads from the last-level cache overlap with multiplication; the slowest of them
 * determines the time. */
TEST(copies_overlap_with_multiplication)
{
    const tn_model gpu = model_of("sm_90", 132), other = model_of("gfx942", 304);
    const tn_work products = {.multiply_adds = 1e12, .rate = TN_RATE_MATRIX, .bits = 16};
    const double alone = tn_work_time(&gpu, &products);
    const tn_kind_memory *memory = &gpu.kind->memory;
    tn_work work = products;
    work.local_bytes = alone * 132 * memory->local;
    work.fetched_bytes = alone * memory->bandwidth * gpu.kind->assumed.fetching / 2;
    assert_near(tn_work_time(&gpu, &work), alone);
    work.local_bytes *= 3;
    assert_near(tn_work_time(&gpu, &work), 3 * alone);
    work.fetched_bytes *= 8;
    assert_near(tn_work_time(&gpu, &work), 4 * alone);
    /* If local memory's speed is unknown, its use costs nothing. */
    work.fetched_bytes = 0;
    assert_near(tn_work_time(&other, &work), tn_work_time(&other, &products));
}

/* Three work-groups take two rounds on two cores, and the second leaves a core idle. */
TEST(rounds_of_work_groups)
{
    const tn_model cpu = model_of("cpu_16", 2);
    const double all = 1e9 / 2 / cpu.kind->rates.f32;
    assert_near(TIME(cpu, .multiply_adds = 1e9, .groups = 1), 2 * all);
    assert_near(TIME(cpu, .multiply_adds = 1e9, .groups = 2), all);
    assert_near(TIME(cpu, .multiply_adds = 1e9, .groups = 3), all * 4 / 3);
    assert_near(TIME(cpu, .multiply_adds = 1e9, .groups = 1000), all);
}

/* A few rounds on a GPU are whole: 144 work-groups on 132 units take as long as 264. Of many rounds
 * the last one hardly matters. */
TEST(rounds_of_a_gpu)
{
    const tn_model gpu = model_of("sm_90", 132);
    const double one = TIME(gpu, .multiply_adds = 132e6, .groups = 132);
    const double rounds[][2] = {{1, 1}, {132, 1}, {144, 2}, {264, 2}, {265, 3}, {528, 4}};
    for (size_t i = 0; i < COUNT(rounds); i++)
        assert_near(TIME(gpu, .multiply_adds = rounds[i][0] * 1e6, .groups = rounds[i][0]),
                    rounds[i][1] * one);
    double groups = 1321;
    for (int step = 0; step < 34; step++, groups *= 1.07) {
        const tn_work work = {.multiply_adds = groups * 1e6, .groups = groups};
        assert_true(tn_work_time(&gpu, &work) > groups / 132 * one);
        assert_true(tn_work_time(&gpu, &work) < (groups / 132 + 0.6) * one);
    }
}

/* A few units do not reach the full memory bandwidth. */
TEST(few_units_do_not_saturate_memory)
{
    const tn_model gpu = model_of("sm_90", 132);
    const double all = TIME(gpu, .bytes = 1e9);
    assert_near(TIME(gpu, .bytes = 1e9, .groups = 132), all);
    assert_near(TIME(gpu, .bytes = 1e9, .groups = 33), 2 * all);
}

TEST(parts_of_an_estimate)
{
    const tn_model gpu = model_of("sm_90", 132);
    const tn_work few = {.launches = 1, .groups = 144, .multiply_adds = 1e9, .bytes = 1e6},
                  many = {.launches = 2, .follows = true, .groups = 1000, .bytes = 1e9};
    tn_work_parts sum = tn_work_parts_of(&gpu, &few);
    const tn_work_parts more = tn_work_parts_of(&gpu, &many);
    assert_near(sum.total, tn_work_time(&gpu, &few));
    assert_near(sum.total, sum.launching + sum.computing);
    assert_true(sum.groups == 144 && sum.rounds == 2 && sum.launches == 1);
    tn_work_parts_add(&sum, &more);
    assert_near(sum.total, tn_work_time(&gpu, &few) + tn_work_time(&gpu, &many));
    assert_near(sum.memory, tn_work_parts_of(&gpu, &few).memory + more.memory);
    assert_true(sum.groups == 1000 && sum.rounds == more.rounds && sum.launches == 3);
}

/* If a block of K takes less time than memory's latency, each step waits for memory. */
TEST(steps_wait_for_memory)
{
    const tn_model gpu = model_of("sm_80", 108);
    tn_work loop = {.groups = 108, .steps = 100, .multiply_adds = 1};
    const double latency = gpu.kind->memory.latency;
    assert_near(tn_work_time(&gpu, &loop), 101 * latency);
    loop.multiply_adds = 1e12;
    assert_true(tn_work_time(&gpu, &loop) > 1e12 / 108 / gpu.kind->rates.f32);
    assert_true(tn_work_time(&gpu, &loop) < 1.01 * 1e12 / 108 / gpu.kind->rates.f32);
}
