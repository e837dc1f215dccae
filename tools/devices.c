/* tenon devices: lists the OpenCL devices and their capabilities. */
#include "command.h"

#include "runtime/probe/local_memory.h"
#include "runtime/opencl/opencl.h"

#include <tenon/tenon.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS     100 /* longest line */
#define LABEL_WIDTH 20  /* width of the labels added by -v */

typedef struct options {
    bool verbose;
    const char *selector; /* may be NULL */
} options;

static const char *type_name(cl_device_type type)
{
    if ((type & CL_DEVICE_TYPE_GPU) != 0)
        return "GPU";
    if ((type & CL_DEVICE_TYPE_CPU) != 0)
        return "CPU";
    return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accel" : "other";
}

/* Formats a size, for example "16 GiB", "7.6 GiB", "512 KiB", "100 B". */
static const char *size_text(uint64_t bytes, char text[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    while (size >= 1024 && unit < 6) {
        size /= 1024;
        unit++;
    }
    bool whole = size >= 99.95 || size - (double)(long)size < 0.05;
    snprintf(text, 16, whole ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return text;
}

/* Prints the first line of a text, truncated to `columns`. A UTF-8 character counts as one column
 * and is never split. */
static void print_cut(const char *text, int columns)
{
    int length = 0, kept = 0, seen = 0;
    for (; text[length] != '\0' && text[length] != '\n' && text[length] != '\r'; length++) {
        if (((unsigned char)text[length] & 0xc0) != 0x80 && ++seen == columns)
            kept = length; /* the last column shows that the text is truncated */
    }
    if (seen <= columns)
        printf("%.*s\n", length, text);
    else
        printf("%.*s…\n", kept, text);
}

static void print_line(const char *label, const char *text)
{
    printf("        %-*s", LABEL_WIDTH, label);
    print_cut(text, COLUMNS - 8 - LABEL_WIDTH);
}

static void print_size(const char *label, uint64_t bytes)
{
    char text[16];
    print_line(label, size_text(bytes, text));
}

static void print_details(const tenon_device_info *info)
{
    char text[64];
    print_line("vendor", info->vendor);
    print_line("version", info->version);
    print_line("driver", info->driver_version);
    snprintf(text, sizeof text, "%u lane%s of f32", info->vector_width_f32,
             info->vector_width_f32 == 1 ? "" : "s");
    print_line("vector width", text);
    snprintf(text, sizeof text, "%llu work-items", (unsigned long long)info->max_work_group);
    print_line("largest work-group", text);
    print_size("global memory", info->global_memory);
    print_size("largest buffer", info->max_allocation);
    print_size("local memory", info->local_memory);
    print_line("unified memory", info->unified_memory ? "yes" : "no");
}

/* Returns the most informative part of a reason. For a reason that ends in a compiler log, this is
 * the first error of the log without its position ("error: f16.cl:9:10: …" or "f16.cl:9:10: error:
 * …"); otherwise the whole reason. */
static const char *gist(const char *reason)
{
    const char *log = strchr(reason, '\n');
    const char *error = log != NULL ? strstr(log, "error:") : NULL;
    if (error == NULL)
        return reason;
    error += strlen("error:");
    const char *end = error + strcspn(error, "\n");
    for (const char *at = error; at + 2 < end; at++)
        if (at[0] >= '0' && at[0] <= '9' && at[1] == ':' && at[2] == ' ')
            error = at + 2;
    return error + strspn(error, " ");
}

/* Returns the informative part of the message of a probe that could not run. */
static const char *untried(const char *message)
{
    const char *from = strstr(message, "cannot be tried");
    return gist(from != NULL ? from : message);
}

static int print_capability(tenon_context *context, tenon_capability capability)
{
    uint32_t available;
    char reason[1024], line[sizeof reason + 8];
    tenon_status status =
        tenon_context_capability(context, capability, &available, reason, sizeof reason);
    if (status != TENON_OK)
        snprintf(line, sizeof line, "%-4s %s", "?", untried(tenon_last_error()));
    else
        snprintf(line, sizeof line, "%-4s %s", available ? "yes" : "no", gist(reason));
    print_line(tenon_capability_string(capability), line);
    return status == TENON_OK ? EXIT_OK : EXIT_FAILED;
}

/* Prints how much local memory each method gives a work-group. */
static void print_local_memory(tenon_context *context)
{
    for (int w = 0; w < TN_LOCAL_WAYS; w++) {
        char label[32], size[16], why[256], line[sizeof why + 32];
        const tn_local_method way = (tn_local_method)w;
        const uint64_t bytes = tn_local_memory_most(context, way, why);
        snprintf(label, sizeof label, "local, %s", tn_local_method_name(way));
        snprintf(line, sizeof line, "%s: %s", bytes > 0 ? size_text(bytes, size) : "none",
                 gist(why));
        print_line(label, line);
    }
}

static void print_barred(void *user, const char *solver, const char *why)
{
    uint32_t *count = user;
    if (++*count == 1)
        printf("        barred here, because of wrong results or crashes:\n");
    printf("        %s\n          %s\n", solver, why);
}

static int print_capabilities(const tenon_device_info *info)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context;
    int status = EXIT_OK;
    params.device = info->selector;
    if (tenon_context_create(&params, &context) != TENON_OK) {
        print_line("cannot be used", tenon_last_error());
        return EXIT_FAILED;
    }
    printf("        capabilities, by probe:\n");
    for (int i = 0; tenon_capability_string((tenon_capability)i) != NULL; i++)
        if (print_capability(context, (tenon_capability)i) != EXIT_OK)
            status = EXIT_FAILED;
    if ((info->type & CL_DEVICE_TYPE_CPU) == 0)
        print_local_memory(context);
    uint32_t barred = 0;
    if (tenon_context_barred(context, print_barred, &barred) != TENON_OK) {
        print_line("cannot be listed", tenon_last_error());
        status = EXIT_FAILED;
    }
    tenon_context_release(context);
    return status;
}

static void print_summary(const tenon_device_info *info, bool is_default)
{
    char memory[16], names[2 * sizeof info->name + 8];
    if (info->device == NULL) {
        printf("  %-8s %-5s %5s %9s  ", "-", "-", "-", "-");
        snprintf(names, sizeof names, "%s: %s", info->platform_name, info->note);
    } else {
        printf("%c %-8s %-5s %5u %9s  ", is_default ? '*' : ' ', info->selector,
               type_name(info->type), info->compute_units, size_text(info->global_memory, memory));
        snprintf(names, sizeof names, "%s (%s)", info->name, info->platform_name);
    }
    print_cut(names, COLUMNS - 34);
}

static int print_devices(const tenon_device_info *infos, uint32_t count, bool verbose)
{
    tenon_device_info preferred = TENON_DEVICE_INFO_INIT;
    int status = EXIT_OK;
    bool marked = false;
    /* If TENON_DEVICE matches no device, the list shows the possible values. */
    bool has_default = tenon_device_select(NULL, &preferred) == TENON_OK;
    printf("  %-8s %-5s %5s %9s  %s\n", "selector", "type", "units", "memory", "name (platform)");
    for (uint32_t i = 0; i < count; i++) {
        const tenon_device_info *info = &infos[i];
        bool is_default = has_default && strcmp(info->selector, preferred.selector) == 0;
        marked |= is_default;
        print_summary(info, is_default);
        if (!verbose || info->device == NULL)
            continue;
        print_details(info);
        if (print_capabilities(info) != EXIT_OK)
            status = EXIT_FAILED;
    }
    /* A part of a device is not in the list. */
    if (has_default && !marked)
        print_summary(&preferred, true);
    if (has_default)
        printf("* is the default device; TENON_DEVICE in the environment changes it\n");
    if (!has_default && getenv("TENON_DEVICE") != NULL)
        fprintf(stderr, "tenon devices: TENON_DEVICE is \"%s\", which matches no device\n",
                getenv("TENON_DEVICE"));
    return status;
}

/* Returns a list of all devices, which the caller frees. On failure, prints the reason to stderr
 * and returns NULL. */
static tenon_device_info *list_devices(uint32_t *count)
{
    uint32_t capacity = 0;
    tenon_status status = tenon_device_list(NULL, 0, &capacity);
    tenon_device_info *infos = calloc((size_t)capacity + 1, sizeof *infos);
    if (infos == NULL) {
        fprintf(stderr, "tenon devices: out of memory\n");
        return NULL;
    }
    infos->struct_size = sizeof *infos;
    if (status == TENON_OK)
        status = tenon_device_list(infos, capacity, count);
    if (status != TENON_OK) {
        report_failure("devices");
        free(infos);
        return NULL;
    }
    if (*count > capacity)
        *count = capacity; /* a device appeared between the two calls */
    return infos;
}

/* A machine, or a container, may have NVIDIA's driver without its OpenCL part. */
static void tell_of_nvidia(const tenon_device_info *infos, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strstr(infos[i].platform_name, "NVIDIA") != NULL)
            return;
    void *library = tn_library_open(TN_LIBRARY_FILE("cuda", "1"), NULL, 0);
    if (library == NULL)
        return;
    tn_library_close(library);
    fprintf(stderr, "tenon devices: NVIDIA's driver (libcuda.so.1) is installed without its OpenCL "
                    "platform: the\nlibrary libnvidia-opencl.so.1, or the file "
                    "/etc/OpenCL/vendors/nvidia.icd that names it, is missing\n");
}

static int show_one(const options *o)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    if (tenon_device_select(o->selector, &info) != TENON_OK)
        return report_failure("devices");
    return print_devices(&info, 1, o->verbose);
}

static int show_all(const options *o)
{
    uint32_t count, devices = 0;
    tenon_device_info *infos = list_devices(&count);
    if (infos == NULL)
        return EXIT_FAILED;
    int status = count > 0 ? print_devices(infos, count, o->verbose) : EXIT_OK;
    for (uint32_t i = 0; i < count; i++)
        devices += infos[i].device != NULL;
    tell_of_nvidia(infos, count);
    free(infos);
    if (devices == 0) {
        fprintf(stderr, "tenon devices: no OpenCL device%s\n",
                count > 0 ? ""
                          : " and no OpenCL platform: no driver is installed; " TN_INSTALL_DRIVER);
        return EXIT_FAILED;
    }
    return status;
}

static int run(int argc, char **argv)
{
    options o = {false, NULL};
    command_line line;
    const command_option known[] = {
        {"verbose", OPTION_FLAG, &o.verbose, NULL,
         "add limits, versions, and each capability with its reason; probing the capabilities on "
         "the device takes a few seconds",
         .letter = 'v'},
        {"device", OPTION_TEXT, &o.selector, "SELECTOR",
         "only this device: gpu, cpu, accelerator, indices such as 1:0, or part of the name of a "
         "platform, a vendor or a device"},
        {NULL},
    };
    if (!command_line_read(&devices_command, argc, argv, known, 0, &line))
        return line.status;
    return o.selector != NULL ? show_one(&o) : show_all(&o);
}

const command devices_command = {
    .name = "devices",
    .summary = "list the OpenCL devices, and with -v their capabilities",
    .run = run,
    .arguments = "",
};
