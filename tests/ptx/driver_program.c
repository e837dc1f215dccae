/* Programs and kernels of the driver. The command in PTX_COMPILER compiles a program; its arguments
 * are the source file, the PTX file to write, and the options. */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

EXPORT cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                            const size_t *lengths, cl_int *errcode_ret)
{
    cl_program made = calloc(1, sizeof *made);
    size_t used = 0;
    (void)context;
    for (cl_uint i = 0; made != NULL && i < count; i++) {
        const size_t length = lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(strings[i]);
        char *longer = realloc(made->source, used + length + 1);
        if (longer == NULL)
            break;
        made->source = longer;
        memcpy(made->source + used, strings[i], length);
        used += length;
        made->source[used] = '\0';
    }
    if (made != NULL)
        made->references = 1;
    if (errcode_ret != NULL)
        *errcode_ret = made != NULL && made->source != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return made;
}

EXPORT cl_program clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
                                            const cl_device_id *device_list, const size_t *lengths,
                                            const unsigned char **binaries, cl_int *binary_status,
                                            cl_int *errcode_ret)
{
    (void)context;
    (void)num_devices;
    (void)device_list;
    (void)lengths;
    (void)binaries;
    if (binary_status != NULL)
        *binary_status = CL_INVALID_BINARY;
    if (errcode_ret != NULL)
        *errcode_ret = CL_INVALID_BINARY;
    return NULL;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return NULL;
    const long size = ftell(file);
    rewind(file);
    if (size >= 0 && (text = malloc((size_t)size + 1)) != NULL)
        text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    const bool is_written = fwrite(text, 1, strlen(text), file) == strlen(text);
    return fclose(file) == 0 && is_written;
}

/* Runs the compiler without LD_PRELOAD. Its output goes to the file `log`. */
static bool compile(const char *source, const char *ptx, const char *log, const char *options)
{
    const char *compiler = getenv("PTX_COMPILER");
    char command[8192];
    if (compiler == NULL)
        return false;
    snprintf(command, sizeof command, "%s %s %s %s > %s 2>&1", compiler, source, ptx, options, log);
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* Continues a 64-bit FNV-1a hash. */
static uint64_t hashed(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

/* Writes the path of the compiled program: PTX_CACHE/…, named after everything it depends on;
 * PTX_COMPILERS identifies the compiler. Returns false if the program is not cached. */
static bool kept_path(const char *source, const char *options, char path[512])
{
    const char *const parts[] = {getenv("PTX_DEVICE"), getenv("PTX_COMPILERS"), options, source};
    const char *folder = getenv("PTX_CACHE"), *edited = getenv("PTX_EDIT_KERNEL");
    uint64_t hash[2] = {0xcbf29ce484222325u, 0x84222325cbf29ceu};
    if (folder == NULL || (edited != NULL && strstr(source, edited) != NULL))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int h = 0; h < 2; h++)
            hash[h] = hashed(hash[h], parts[i] != NULL ? parts[i] : "");
    snprintf(path, 512, "%s/%016" PRIx64 "%016" PRIx64 ".ptx", folder, hash[0], hash[1]);
    return true;
}

/* Returns the program's PTX, or NULL with the compiler's log in `message`. */
static char *compiled(const char *source, const char *options, char message[512])
{
    char folder[512] = "/tmp/ptx-XXXXXX", cl[520], ptx[520], log[520], kept[512];
    const bool keeps = kept_path(source, options, kept);
    char *text = keeps ? read_file(kept) : NULL;
    if (text != NULL)
        return text;
    if (keeps) /* on the same file system, because it is renamed */
        snprintf(folder, sizeof folder, "%s/XXXXXX", getenv("PTX_CACHE"));
    if (mkdtemp(folder) == NULL) {
        snprintf(message, 512, "cannot create folder %s", folder);
        return NULL;
    }
    snprintf(cl, sizeof cl, "%s/k.cl", folder);
    snprintf(ptx, sizeof ptx, "%s/k.ptx", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    if (write_file(cl, source) && compile(cl, ptx, log, options))
        text = read_file(ptx);
    char *said = text == NULL ? read_file(log) : NULL;
    snprintf(message, 512, "%s", said != NULL ? said : "");
    free(said);
    if (text != NULL && keeps && write_file(log, text))
        rename(log, kept);
    unlink(cl);
    unlink(ptx);
    unlink(log);
    rmdir(folder);
    return text;
}

static void build(cl_program program, const char *options)
{
    char why[256] = "";
    char *text = compiled(program->source, options, program->log);
    if (text == NULL)
        return;
    program->made = ptx_parse(text, why);
    if (program->made == NULL) {
        fprintf(stderr, "ptx: cannot interpret a program: %s\n", why);
        snprintf(program->log, sizeof program->log, "%s", why);
    }
    free(text);
}

EXPORT cl_int clBuildProgram(cl_program program, cl_uint num_devices,
                             const cl_device_id *device_list, const char *options,
                             void (*pfn_notify)(cl_program, void *), void *user_data)
{
    (void)num_devices;
    (void)device_list;
    (void)pfn_notify;
    (void)user_data;
    build(program, options != NULL ? options : "");
    return program->made != NULL ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

EXPORT cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                    cl_program_build_info param_name, size_t param_value_size,
                                    void *param_value, size_t *param_value_size_ret)
{
    (void)device;
    return param_name == CL_PROGRAM_BUILD_LOG
               ? ptx_answer_text(program->log, param_value_size, param_value, param_value_size_ret)
               : CL_INVALID_VALUE;
}

/* The driver has no binaries. */
EXPORT cl_int clGetProgramInfo(cl_program program, cl_program_info param_name,
                               size_t param_value_size, void *param_value,
                               size_t *param_value_size_ret)
{
    const size_t none = 0;
    (void)program;
    return param_name == CL_PROGRAM_BINARY_SIZES
               ? ptx_answer(&none, sizeof none, param_value_size, param_value, param_value_size_ret)
               : CL_INVALID_VALUE;
}

EXPORT cl_int clRetainProgram(cl_program program)
{
    __atomic_add_fetch(&program->references, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

EXPORT cl_int clReleaseProgram(cl_program program)
{
    if (__atomic_sub_fetch(&program->references, 1, __ATOMIC_SEQ_CST) == 0) {
        ptx_destroy(program->made);
        free(program->source);
        free(program);
    }
    return CL_SUCCESS;
}

EXPORT cl_kernel clCreateKernel(cl_program program, const char *kernel_name, cl_int *errcode_ret)
{
    const ptx_function *function =
        program->made != NULL ? ptx_find(program->made, kernel_name) : NULL;
    cl_kernel made = function != NULL ? calloc(1, sizeof *made) : NULL;
    if (made != NULL) {
        made->program = program;
        made->function = function;
        clRetainProgram(program);
    }
    if (errcode_ret != NULL)
        *errcode_ret = made != NULL ? CL_SUCCESS : CL_INVALID_KERNEL_NAME;
    return made;
}

EXPORT cl_int clReleaseKernel(cl_kernel kernel)
{
    clReleaseProgram(kernel->program);
    free(kernel);
    return CL_SUCCESS;
}

EXPORT cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                       cl_kernel_work_group_info param_name,
                                       size_t param_value_size, void *param_value,
                                       size_t *param_value_size_ret)
{
    const size_t most = 1024;
    (void)kernel;
    (void)device;
    return param_name == CL_KERNEL_WORK_GROUP_SIZE
               ? ptx_answer(&most, sizeof most, param_value_size, param_value, param_value_size_ret)
               : CL_INVALID_VALUE;
}
