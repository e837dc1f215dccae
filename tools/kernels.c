/* tenon kernels: lists the kernels that Tenon would build for kinds of GPU that are not installed.
 */
#include "command.h"

#include "edit_ptx.h"
#include "kernel_shapes.h"
#include "targets.h"
#include "base/grow.h"
#include "check/case.h"
#include "dispatch/plan.h"
#include "runtime/probe/capability.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/probe/copy_bandwidth.h"
#include "runtime/memory/fill.h"
#include "runtime/program/kernel_sources.h"
#include "runtime/probe/local_memory.h"
#include "runtime/context/target.h"
#include "ops/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MOST_HEARD 64 /* kernels of one plan */

static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                    TENON_DTYPE_F64};
#define TYPES (sizeof types / sizeof *types)

/* A kernel requested by a plan. */
typedef struct heard {
    char source[64], options[TN_OPTIONS_SIZE], kernel[64];
    size_t work_group;
} heard;

typedef struct listing {
    const char *target;
    tenon_context *context;
    heard heard[MOST_HEARD]; /* of the current plan */
    uint32_t heard_count;
    bool chosen_only;  /* list only the automatic choice */
    bool usual;        /* the current call is from a common network */
    uint64_t *printed; /* hashes of the lines printed for the target */
    uint32_t printed_count, printed_capacity;
    uint32_t failures;
} listing;

/* Returns true if the kernel is already listed. A plan may launch a kernel for each of many blocks;
 * it is listed once. */
static bool was_heard(const listing *l, const heard *h)
{
    for (size_t i = 0; i < l->heard_count; i++)
        if (strcmp(l->heard[i].source, h->source) == 0 &&
            strcmp(l->heard[i].options, h->options) == 0 &&
            strcmp(l->heard[i].kernel, h->kernel) == 0 && l->heard[i].work_group == h->work_group)
            return true;
    return false;
}

static void listen(void *user, const char *source, const char *options, const char *kernel,
                   size_t work_group)
{
    listing *l = user;
    heard now = {.work_group = work_group};
    snprintf(now.source, sizeof now.source, "%s", source);
    snprintf(now.options, sizeof now.options, "%s", options);
    snprintf(now.kernel, sizeof now.kernel, "%s", kernel);
    if (was_heard(l, &now))
        return;
    if (l->heard_count == MOST_HEARD) {
        fprintf(stderr, "tenon kernels: a plan has more than %d kernels\n", MOST_HEARD);
        l->failures++;
        return;
    }
    l->heard[l->heard_count++] = now;
}

/* Returns true if the line has not been printed for the target. */
static bool is_new(listing *l, const char *line)
{
    const uint64_t hash = XXH3_64bits(line, strlen(line));
    for (size_t i = 0; i < l->printed_count; i++)
        if (l->printed[i] == hash)
            return false;
    if (!tn_grow(&l->printed, l->printed_count, &l->printed_capacity, sizeof *l->printed))
        return true; /* a repeated line is harmless */
    l->printed[l->printed_count++] = hash;
    return true;
}

/* Names and options come from Tenon and contain no characters that JSON requires to be escaped. */
static void print_heard(listing *l, const char *operation, const char *solver, bool chosen)
{
    char line[2048];
    for (uint32_t i = 0; i < l->heard_count; i++) {
        const heard *h = &l->heard[i];
        snprintf(line, sizeof line,
                 "{\"target\": \"%s\", \"operation\": \"%s\", \"solver\": \"%s\", \"chosen\": %s, "
                 "\"usual\": %s, \"source\": \"%s\", \"options\": \"%s\", \"kernel\": \"%s\", "
                 "\"work_group\": %zu}",
                 l->target, operation, solver, chosen ? "true" : "false",
                 chosen && l->usual ? "true" : "false", h->source, h->options, h->kernel,
                 h->work_group);
        if (is_new(l, line))
            puts(line);
    }
    l->heard_count = 0;
}

/* Returns true for the statuses with which a solver rejects a problem it does not support. */
static bool is_refusal(tenon_status status)
{
    return status == TENON_ERROR_UNSUPPORTED || status == TENON_ERROR_INVALID_ARGUMENT ||
           status == TENON_ERROR_WORKSPACE_TOO_SMALL;
}

/* Plans a call. A NULL solver is the automatic choice. */
static void plan_case(listing *l, tn_case *c, const char *solver)
{
    tenon_plan *made = NULL;
    l->heard_count = 0;
    const tenon_status status = tn_case_plan(l->context, c, solver, &made);
    if (status == TENON_OK) {
        print_heard(l, c->operation->name, made->name, solver == NULL);
        tenon_plan_release(made);
    } else if (solver == NULL || !is_refusal(status)) {
        char text[TN_CASE_TEXT_SIZE];
        fprintf(stderr, "tenon kernels: %s: %s\n  %s\n", l->target, tenon_last_error(),
                tn_case_text(c, text));
        l->failures++;
    }
}

static void plan_all(listing *l, tn_case *c)
{
    const tn_family *family = c->operation->family;
    char solver[TN_SOLVER_NAME_SIZE];
    plan_case(l, c, NULL);
    if (l->chosen_only)
        return;
    for (uint32_t s = 0; s < family->solver_count; s++) {
        snprintf(solver, sizeof solver, "%s/%s", family->name, family->solvers[s]->name);
        plan_case(l, c, solver);
    }
}

/* Plans an example in each of its types that the target supports. */
static void list_example(listing *l, const char *example)
{
    const bool typed = strstr(example, "=T:") != NULL || strstr(example, "=S:") != NULL;
    tn_case *c = malloc(sizeof *c);
    for (size_t t = 0; c != NULL && t < (typed ? TYPES : 1); t++) {
        if (types[t] == TENON_DTYPE_F64 && !tn_context_has(l->context, TENON_CAPABILITY_F64))
            continue;
        if (tn_case_parse_line(example, types[t], c) == TENON_OK) {
            plan_all(l, c);
        } else {
            fprintf(stderr, "%s\n  %s\n", tenon_last_error(), example);
            l->failures++;
        }
    }
    free(c);
}

/* Lists the probes of the target's assumed capabilities. */
static void list_trials(listing *l)
{
    for (int i = 0; tenon_capability_string((tenon_capability)i) != NULL; i++) {
        tn_trial_build build;
        l->heard_count = 0;
        for (uint32_t n = 0; tn_capability_trial(l->context, (tenon_capability)i, n, &build); n++)
            listen(l, build.source, build.options, "trial", build.items);
        print_heard(l, "capability", tenon_capability_string((tenon_capability)i), true);
    }
}

/* Lists the kernel that measures the copy bandwidth. */
static void list_copy(listing *l)
{
    l->heard_count = 0;
    listen(l, TN_COPY_SOURCE, TN_MIN_VERSION, TN_COPY_KERNEL, TN_COPY_GROUP);
    print_heard(l, "capability", "copy_bandwidth", true);
}

/* Lists the probes of the largest local memory that the target is assumed to have. */
static void list_local_memory(listing *l)
{
    for (int w = 0; w < TN_LOCAL_WAYS; w++) {
        char why[256];
        tn_trial_build build;
        const uint64_t bytes = tn_local_memory_most(l->context, (tn_local_method)w, why);
        if (bytes == 0)
            continue;
        l->heard_count = 0;
        tn_local_memory_trial((tn_local_method)w, bytes, &build);
        listen(l, build.source, build.options, "trial", build.items);
        print_heard(l, "local memory", tn_local_method_name((tn_local_method)w), true);
    }
}

/* Lists the kernels that fill a tensor with gaps. */
static void list_fill(listing *l)
{
    static const tenon_dtype each_size[] = {TENON_DTYPE_U8, TENON_DTYPE_F16, TENON_DTYPE_F32,
                                            TENON_DTYPE_F64};
    const unsigned char zeros[8] = {0};
    l->heard_count = 0;
    for (size_t i = 0; i < sizeof each_size / sizeof *each_size; i++) {
        tn_recording recording = {.context = l->context};
        const tenon_tensor tensor = {
            .dtype = each_size[i], .rank = 2, .shape = {8, 8}, .stride = {9, 1}};
        if (tn_fill_record("tenon kernels", &recording, &tensor, zeros) != TENON_OK) {
            report_failure("kernels");
            l->failures++;
        }
        tn_recording_destroy(&recording);
    }
    print_heard(l, "tensor_fill", "tensor/fill", true);
}

/* Plans with packed weights need packed weights in memory. On GPUs packed weights are dense, and
 * products and convolutions are those of `gemm` and `conv`. */
static bool needs_no_weights(const tn_operation *operation)
{
    static const tn_operation *const packed[] = {
        &tn_operation_gemm_packed, &tn_operation_gemm_packed_post, &tn_operation_conv_packed,
        &tn_operation_conv_packed_post};
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (operation == packed[i])
            return false;
    return true;
}

/* Lists the kernels of every call in the tables. */
static void list_all(listing *l)
{
    l->usual = true;
    list_trials(l);
    list_copy(l);
    list_local_memory(l);
    list_fill(l);
    l->usual = false;
    for (uint32_t i = 0; i < tn_operation_count; i++)
        for (const char *const *example = tn_operations[i]->examples;
             needs_no_weights(tn_operations[i]) && *example != NULL; example++)
            list_example(l, *example);
    l->usual = true;
    for (const char *const *shape = kernel_shapes; *shape != NULL; shape++)
        list_example(l, *shape);
}

/* Lists the kernels of a target for one call, or for all calls if `call` is NULL. */
static int list_target(const tn_device_kind *kind, const char *call)
{
    listing *l = calloc(1, sizeof *l);
    if (l == NULL || tn_target_context(kind, listen, l, &l->context) != TENON_OK) {
        free(l);
        return report_failure("kernels");
    }
    l->target = kind->name;
    l->chosen_only = call != NULL;
    if (call != NULL)
        list_example(l, call);
    else
        list_all(l);
    const int code = l->failures > 0 ? EXIT_FAILED : EXIT_OK;
    tenon_context_release(l->context);
    free(l->printed);
    free(l);
    return code;
}

static int write_source(const char *folder, const struct tenon_kernel_file *source)
{
    char path[4096];
    size_t size = 0;
    char *text = tn_kernel_text(&tenon_kernel_sources, source, &size);
    const int length = snprintf(path, sizeof path, "%s/%s", folder, source->name);
    FILE *file = NULL;
    if (length > 0 && (size_t)length < sizeof path) {
        for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
            *at = '\0';
            (void)tn_folder_create(path, false);
        }
        file = fopen(path, "wb");
    }
    bool written = file != NULL && text != NULL && fwrite(text, 1, size, file) == size;
    free(text);
    if (file != NULL && fclose(file) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "tenon kernels: cannot write %s: %s\n", path, strerror(errno));
    return written ? EXIT_OK : EXIT_FAILED;
}

static int write_sources(const char *folder)
{
    int code = EXIT_OK;
    (void)tn_folder_create(folder, false);
    for (size_t i = 0; i < tenon_kernel_sources.count && code == EXIT_OK; i++) {
        const struct tenon_kernel_file *file = &tenon_kernel_sources.files[i];
        if (strcmp(strrchr(file->name, '.'), ".cl") == 0)
            code = write_source(folder, file);
    }
    return code;
}

typedef struct wishes {
    const char *target, *sources, *call, *ptx, *options;
} wishes;

static int list_targets(const tn_device_kind *only, const char *call)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < tn_device_kind_count; i++) {
        const tn_device_kind *kind = &tn_device_kinds[i];
        const bool is_listed = only != NULL ? kind == only : !tn_device_kind_is_cpu(kind);
        if (is_listed && list_target(kind, call) != EXIT_OK)
            code = EXIT_FAILED;
    }
    return code;
}

static int run(int argc, char **argv)
{
    wishes w = {NULL};
    command_line line;
    const tn_device_kind *only;
    const command_option known[] = {
        {"target", OPTION_TEXT, &w.target, "NAME",
         "sm_90, gfx942, xe_hpc ...; other: the defaults for any other GPU; sm_90a: sm_90 with "
         "wgmma, on a driver for sm_90a; sm_90_edited: on a driver for sm_90, whose PTX Tenon "
         "edits"},
        {"sources", OPTION_TEXT, &w.sources, "FOLDER",
         "also write the complete sources of the kernels to the folder"},
        {"call", OPTION_TEXT, &w.call, "CALL",
         "only the choice for this call, in the syntax of \"tenon check\""},
        {"edit-ptx", OPTION_TEXT, &w.ptx, "FILE",
         "list nothing: write the PTX of a driver for sm_90, from the file, with Tenon's edits"},
        {"options", OPTION_TEXT, &w.options, "TEXT",
         "of --edit-ptx: the options with which the program was built"},
        {NULL},
    };
    if (!command_line_read(&kernels_command, argc, argv, known, 0, &line))
        return line.status;
    if (w.ptx != NULL)
        return edit_ptx(w.ptx, w.options != NULL ? w.options : "");
    if (!target_named(&kernels_command, w.target, &only))
        return EXIT_USAGE;
    const int code = w.sources != NULL ? write_sources(w.sources) : EXIT_OK;
    return code == EXIT_OK ? list_targets(only, w.call) : code;
}

const command kernels_command = {
    .name = "kernels",
    .summary = "list the kernels that Tenon would build for kinds of GPU, without a GPU",
    .run = run,
    .arguments = "",
    .details =
        "Plans each operation's examples and the shapes of common networks, in each type, with\n"
        "the automatic choice and with every solver that may be chosen there. Prints a line of\n"
        "JSON for each distinct target, operation, solver, source, options, kernel and work-group\n"
        "(0: the driver chooses its size). chosen: true for the automatic choice; usual: true if\n"
        "it was made for a shape of a common network.\n",
};
