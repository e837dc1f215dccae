/* What NVIDIA's driver takes of PTX. */
#include "questions.h"

#include "device.h"
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARED 1031 /* words of an array whose size is to be found in PTX */
#define MARK     "// tenon: "

/* Lines of PTX that only some targets' assemblers take. They are built, not run. */
static const struct {
    const char *name, *line;
} lines[] = {
    {"cp.async", "cp.async.commit_group;"},
    {"cp.async.bulk", "cp.async.bulk.commit_group;"},
    {"ldmatrix", "{ .reg .b32 r; .shared .align 16 .b8 s[512];"
                 " ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [s]; }"},
    {"mma f16", "{ .reg .b32 a,b; .reg .f32 d<4>; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
                " {d0,d1,d2,d3}, {a,a}, {b}, {d0,d1,d2,d3}; }"},
    {"mma tf32", "{ .reg .b32 a,b; .reg .f32 d<4>;"
                 " mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
                 " {d0,d1,d2,d3}, {a,a,a,a}, {b,b}, {d0,d1,d2,d3}; }"},
    {"mma s8", "{ .reg .b32 a,b; .reg .s32 d<4>; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
               " {d0,d1,d2,d3}, {a,a,a,a}, {b,b}, {d0,d1,d2,d3}; }"},
    {"wgmma", "{ .reg .b64 a; .reg .f32 d<4>; mov.b64 a, 0; wgmma.fence.sync.aligned;"
              " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
              " {d0,d1,d2,d3}, a, a, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; }"},
    {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32 232;"},
    {"mbarrier", "{ .reg .b64 t; .shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], 1; }"},
};

/* A kernel of one line of PTX, behind a comment where `mark` says so. */
static cl_program build_line(const bench_asking *a, const char *mark, const char *line, char **log)
{
    char source[640];
    snprintf(source, sizeof source,
             "__kernel void trial(__global float *x)\n"
             "{\n    __local uint shared[%d];\n"
             "    shared[get_local_id(0)] = (uint)get_local_id(0);\n"
             "    __asm__ volatile(\"%s%s\" ::: \"memory\");\n"
             "    barrier(CLK_LOCAL_MEM_FENCE);\n"
             "    x[get_global_id(0)] = shared[get_local_id(0)] == get_local_id(0) ? 1.0f : 0.0f;\n"
             "}\n",
             DECLARED, mark, line);
    return bench_build(a->session, source, strlen(source), "", log);
}

void bench_ask_assembler(bench_asking *a)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *log;
        cl_program program = build_line(a, "", lines[i].line, &log);
        bench_answer(a, program != NULL ? BENCH_YES : BENCH_NO, program != NULL ? NULL : log, "%s",
                     lines[i].name);
        free(log);
        if (program != NULL)
            clReleaseProgram(program);
    }
}

void bench_ask_target(bench_asking *a)
{
    cl_program program = build_line(a, "", "", NULL);
    json_t *text = program != NULL ? bench_first_lines(program) : json_null();
    bench_answer(a, json_is_string(text) ? BENCH_YES : BENCH_NO, json_string_value(text),
                 "the driver's binary is PTX");
    json_decref(text);
    if (program != NULL)
        clReleaseProgram(program);
}

/* The PTX of a program; the caller frees it. */
static char *ptx_of(cl_program program)
{
    size_t size = 0;
    unsigned char *text = NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) ==
            CL_SUCCESS &&
        (text = calloc(size + 1, 1)) != NULL &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof text, &text, NULL) == CL_SUCCESS &&
        strstr((const char *)text, ".target") != NULL)
        return (char *)text;
    free(text);
    return NULL;
}

/* Puts `to` into the place of `count` characters at `at`, in memory of its own. */
static char *edited(const char *text, const char *at, size_t count, const char *to)
{
    const size_t before = (size_t)(at - text);
    char *made = malloc(strlen(text) + strlen(to) + 1);
    if (made != NULL)
        sprintf(made, "%.*s%s%s", (int)before, text, to, at + count);
    return made;
}

/* ".target sm_90" with an "a" behind it, where there is none. */
static char *with_own_instructions(const char *text)
{
    const char *at = strstr(text, ".target sm_");
    if (at == NULL)
        return NULL;
    at += strlen(".target sm_");
    at += strspn(at, "0123456789");
    return edited(text, at, 0, *at == 'a' ? "" : "a");
}

static char *with_marked_line(const char *text)
{
    char *target = with_own_instructions(text);
    const char *at = target != NULL ? strstr(target, MARK) : NULL;
    char *made = at != NULL ? edited(target, at, strlen(MARK), "") : NULL;
    free(target);
    return made;
}

/* The array of DECLARED words enlarged to so many bytes. */
static char *with_array(const char *text, const char *bytes)
{
    char declared[32];
    snprintf(declared, sizeof declared, "[%d]", DECLARED * 4);
    const char *at = strstr(text, declared);
    return at != NULL ? edited(text, at, strlen(declared), bytes) : NULL;
}

/* Why a text does not load as a program, or its kernel does not run; NULL where it does. */
static const char *loads(const bench_asking *a, const char *text, char why[512])
{
    cl_device_id device = a->session->device.device;
    const size_t size = strlen(text);
    const unsigned char *binary = (const unsigned char *)text;
    cl_int status, error;
    size_t length = 0;
    cl_program program = clCreateProgramWithBinary(tenon_context_cl(a->session->context), 1,
                                                   &device, &size, &binary, &status, &error);
    if (error != CL_SUCCESS)
        return "clCreateProgramWithBinary refuses it";
    const char *wrong = NULL;
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        (void)clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 511, why, &length);
        why[length < 511 ? length : 511] = '\0';
        wrong = *why != '\0' ? why : "clBuildProgram refuses it";
    } else {
        cl_kernel kernel = bench_kernel_of(program, "trial");
        wrong = kernel != NULL ? bench_all_ones(a, kernel) : "its kernel is not found";
        if (kernel != NULL)
            clReleaseKernel(kernel);
    }
    clReleaseProgram(program);
    return wrong;
}

static void answer_edit(bench_asking *a, const char *what, char *text)
{
    char why[512] = "";
    const char *wrong = text != NULL ? loads(a, text, why) : "what is to be edited is not there";
    bench_answer(a, wrong == NULL ? BENCH_YES : BENCH_NO, wrong, "%s", what);
    free(text);
}

void bench_ask_edited_ptx(bench_asking *a)
{
    cl_program program = build_line(a, MARK, "wgmma.fence.sync.aligned;", NULL);
    char *text = program != NULL ? ptx_of(program) : NULL;
    if (text == NULL) {
        bench_answer(a, BENCH_NO, "there is none", "a program's PTX");
    } else {
        answer_edit(a, "as it is", edited(text, text, 0, ""));
        answer_edit(a, ".target with an a", with_own_instructions(text));
        answer_edit(a, "and a line that only this target has", with_marked_line(text));
        answer_edit(a, "a local array of 64 KiB", with_array(text, "[65536]"));
        answer_edit(a, "a local array of 200 KiB", with_array(text, "[204800]"));
    }
    free(text);
    if (program != NULL)
        clReleaseProgram(program);
}
