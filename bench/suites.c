#include "bench.h"

#include "shapes/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bench_kind bench_gemm_cases, bench_conv_cases, bench_conv_gradients,
    bench_conv_nhwc_cases, bench_conv_nhwc_gradients, bench_conv_int8_cases, bench_listed_calls,
    bench_activation_cases, bench_pass_cases, bench_image_call_cases, bench_pool_cases,
    bench_packed_cases, bench_recurrent_cases, bench_collective_cases, bench_scaling_cases,
    bench_network_cases, bench_historic_cases;

/* The functions of suites that are data, by the kind in the file. */
static const struct {
    const char *kind;
    const bench_kind *functions;
} kinds[] = {{"gemm", &bench_gemm_cases},
             {"conv", &bench_conv_cases},
             {"conv gradients", &bench_conv_gradients},
             {"conv nhwc", &bench_conv_nhwc_cases},
             {"conv nhwc gradients", &bench_conv_nhwc_gradients},
             {"conv int8", &bench_conv_int8_cases},
             {"calls", &bench_listed_calls},
             {"calls nhwc", &bench_image_call_cases},
             {"activation", &bench_activation_cases},
             {"bandwidth", &bench_pass_cases},
             {"pool", &bench_pool_cases},
             {"packed", &bench_packed_cases},
             {"recurrence", &bench_recurrent_cases},
             {"collectives", &bench_collective_cases},
             {"scaling", &bench_scaling_cases},
             {"networks", &bench_network_cases},
             {"historic", &bench_historic_cases}};

extern const bench_suite bench_suite_start;

/* Suites that are functions: they have no shapes. */
static const bench_suite *const others[] = {&bench_suite_start};
#define OTHERS (sizeof others / sizeof *others)

const bench_suite **bench_suites;
uint32_t bench_suite_count;

const char *const bench_peer_names[BENCH_PEER_NAMES] = {
    "openblas",     "onednn",     "onednn-blocked", "clblast",     "loop",
    "tenon-f32",    "unpacked",   "cublas",         "cudnn",       "rocblas",
    "onnxruntime",  "pytorch",    "nchw",           "numpy",       "boost-compute",
    "memcpy",       "one-member", "openblas-pypi",  "onednn-pypi", "onednn-blocked-pypi",
    "clblast-tuned"};

bool bench_floating(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    (void)suite;
    (void)number;
    return dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F16 ||
           dtype == TENON_DTYPE_BF16;
}

bool bench_only_f32(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    (void)suite;
    (void)number;
    return dtype == TENON_DTYPE_F32;
}

uint32_t bench_case_count(const bench_suite *suite)
{
    return suite->shapes->count;
}

void bench_case_name(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    snprintf(name, BENCH_NAME_SIZE, "%s", suite->shapes->cases[number].name);
}

static const bench_kind *functions_of(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].functions;
    return NULL;
}

/* Reads each file of a list that commas separate. */
static bool read_files(const char *files)
{
    char *list = strdup(files), *rest = NULL;
    bool well = list != NULL;
    for (char *path = well ? strtok_r(list, ",", &rest) : NULL; well && path != NULL;
         path = strtok_r(NULL, ",", &rest)) {
        char *kept = strdup(path); /* for messages */
        well = kept != NULL && bench_shapes_read(kept);
        free(kept);
    }
    free(list);
    return well;
}

static bool is_taken(const char *name)
{
    for (size_t i = 0; i < OTHERS; i++)
        if (strcmp(others[i]->name, name) == 0)
            return true;
    return false;
}

bool bench_suites_load(const char *files)
{
    static bench_suite *data;
    if (!bench_shapes_read_built_in() || (files != NULL && !read_files(files)))
        return false;
    free(data);
    free(bench_suites);
    data = calloc(bench_shape_suite_count, sizeof *data);
    bench_suites = calloc(bench_shape_suite_count + OTHERS, sizeof *bench_suites);
    bench_suite_count = 0;
    if (data == NULL || bench_suites == NULL)
        return false;
    for (uint32_t i = 0; i < bench_shape_suite_count; i++) {
        const bench_shape_suite *from = &bench_shape_suites[i];
        if (is_taken(from->name)) {
            bench_complain("--shapes: there is a suite \"%s\" already", from->name);
            return false;
        }
        data[i] =
            (bench_suite){from->name, from->about, functions_of(from->kind), from->seconds, from};
        bench_suites[bench_suite_count++] = &data[i];
    }
    for (size_t i = 0; i < OTHERS; i++)
        bench_suites[bench_suite_count++] = others[i];
    return true;
}
