#include "driver.h"

#include "ops/registry.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_SECONDS 120

static void try_here(const char *devices, driver_outcome (*run)(const driver *))
{
    const struct rlimit no_core = {0, 0};
    tenon_context *context;
    tenon_stream *stream;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(MOST_SECONDS);
    if (devices != NULL)
        setenv("POCL_DEVICES", devices, 1);
    if (tenon_context_create(NULL, &context) != TENON_OK ||
        tenon_stream_create(context, NULL, &stream) != TENON_OK ||
        tenon_context_device(context, &info) != TENON_OK)
        _exit(DRIVER_UNTRIED);
    const driver d = {tenon_context_cl(context), info.device, tenon_stream_cl(stream)};
    _exit(run(&d));
}

/* Prints the result of a case by the exit status of its process. A driver that ends the process may
 * use any other status. */
static void print_outcome(const char *what, int status)
{
    if (status == DRIVER_RIGHT)
        printf("correct here: %s\n", what);
    else if (status == DRIVER_WRONG)
        printf("wrong here: %s\n", what);
    else if (status == DRIVER_UNTRIED)
        printf("not tried: %s\n", what);
    else
        printf("wrong here: %s: the driver ended the process with status %d\n", what, status);
}

void driver_try(const char *what, const char *devices, driver_outcome (*run)(const driver *))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        try_here(devices, run);
    if (child < 0 || waitpid(child, &status, 0) != child)
        printf("not tried: %s\n", what);
    else if (WIFSIGNALED(status))
        printf("wrong here: %s: ended by signal %d\n", what, WTERMSIG(status));
    else
        print_outcome(what, WEXITSTATUS(status));
}

static void need(cl_int error)
{
    if (error != CL_SUCCESS)
        _exit(DRIVER_UNTRIED);
}

cl_kernel driver_kernel(const driver *d, const char *source, const char *name)
{
    cl_int error;
    cl_program program = clCreateProgramWithSource(d->context, 1, &source, NULL, &error);
    need(error);
    need(clBuildProgram(program, 1, &d->device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, name, &error);
    need(error);
    clReleaseProgram(program);
    return kernel;
}

cl_mem driver_buffer(const driver *d, size_t bytes, const void *contents)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    need(error);
    if (contents != NULL)
        need(clEnqueueWriteBuffer(d->queue, buffer, CL_TRUE, 0, bytes, contents, 0, NULL, NULL));
    return buffer;
}

void driver_set_buffer(cl_kernel kernel, cl_uint argument, cl_mem buffer)
{
    need(clSetKernelArg(kernel, argument, sizeof(cl_mem), &buffer));
}

void driver_run(const driver *d, cl_kernel kernel, size_t global, size_t local, cl_mem result,
                size_t bytes, void *contents)
{
    need(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    need(clEnqueueReadBuffer(d->queue, result, CL_TRUE, 0, bytes, contents, 0, NULL, NULL));
}

void driver_check_line(tenon_stream *stream, const char *line)
{
    tn_case c;
    tn_case_result result;
    memset(&c, 0, sizeof c);
    assert_ok(tn_case_parse_line(line, TENON_DTYPE_INVALID, &c));
    if (tn_case_run(stream, &c, &result) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    if (!result.served || !result.right)
        fail_msg("%s: %s", line, result.why);
}

/* Replaces comments by blanks, to keep their words out of searches. */
static void blank_comments(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        char *end = at;
        if (strncmp(at, "/*", 2) == 0)
            end = strstr(at + 2, "*/") != NULL ? strstr(at + 2, "*/") + 2 : at + strlen(at);
        else if (strncmp(at, "//", 2) == 0)
            end = at + strcspn(at, "\n");
        for (; at < end; at++)
            *at = *at == '\n' ? '\n' : ' ';
        if (*at == '\0')
            break;
    }
}

static char *text_of(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    char *text = calloc(1, (size_t)info.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)info.st_size, file), info.st_size);
    fclose(file);
    return text;
}

static int each_source_below(const char *folder, void (*look)(const char *path, const char *text))
{
    int count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[1024];
        struct stat info;
        const char *end = strrchr(entry->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || stat(path, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode))
            count += each_source_below(path, look);
        if (end == NULL || (strcmp(end, ".cl") != 0 && strcmp(end, ".clh") != 0))
            continue;
        char *text = text_of(path);
        blank_comments(text);
        look(path, text);
        free(text);
        count++;
    }
    closedir(directory);
    return count;
}

int driver_each_source(void (*look)(const char *path, const char *text))
{
    char folder[900];
    const char *root = getenv("TENON_SOURCE_ROOT");
    assert_non_null(root);
    snprintf(folder, sizeof folder, "%s/cl_kernels", root);
    return each_source_below(folder, look);
}
