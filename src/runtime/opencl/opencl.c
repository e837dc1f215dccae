#define TN_OPENCL_BY_NAME
#include "runtime/opencl/opencl.h"

#include "base/platform.h"
#include "base/status.h"
#include "runtime/opencl/gate.h"
#include "runtime/context/process_end.h"

#include <stddef.h>

/* The loader loads the drivers at its first query. Their exit handlers must be registered before
 * Tenon's. */
static void begin(void)
{
    cl_uint count;
    (void)tn_opencl.clGetPlatformIDs(0, NULL, &count);
    tn_process_begin();
}

#ifdef TENON_LINK_OPENCL

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
#define LINKED(name) .name = name,
tn_opencl_functions tn_opencl = {TN_OPENCL_FUNCTIONS(LINKED) TN_OPENCL_SVM_FUNCTIONS(LINKED)};

tenon_status tn_opencl_load(const char *caller)
{
    static tn_once once = TN_ONCE_INIT;
    TN_TRY(tn_gate_check(caller));
    tn_once_run(&once, begin);
    return TENON_OK;
}

#else

tn_opencl_functions tn_opencl;

static tn_once once = TN_ONCE_INIT;
static char why_not[256]; /* empty if all functions were found */
static const char *remedy = "";

#if defined(__APPLE__)
static const char *const names[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL"};
#elif defined(_WIN32)
static const char *const names[] = {"OpenCL.dll"};
#else
static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
#endif

/* Opens the first loader that is found. If there is none, the error of the first name is the
 * reason. */
static void *open_loader(void)
{
    void *loader = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && loader == NULL; i++)
        loader = tn_library_open(names[i], why_not, i == 0 ? sizeof why_not : 0);
    if (loader != NULL)
        why_not[0] = '\0';
    return loader;
}

/* All objects must belong to one OpenCL. If the application has linked or preloaded one, its
 * functions are used, including each one that was replaced there. */
static void *opencl_find(void *program, void *loader, const char *name)
{
    void *found = program != NULL ? tn_library_find(program, name) : NULL;
    return found == NULL && loader != NULL ? tn_library_find(loader, name) : found;
}

/* The functions, with their places in tn_opencl. */
static const struct {
    const char *name;
    size_t place;
    bool is_needed;
} functions[] = {
#define PLACE(name)  offsetof(tn_opencl_functions, name)
#define NEEDED(name) {#name, PLACE(name), true},
#define SVM(name)    {#name, PLACE(name), false},
    TN_OPENCL_FUNCTIONS(NEEDED) TN_OPENCL_SVM_FUNCTIONS(SVM)};

static void load(void)
{
    void *program = tn_library_open(NULL, NULL, 0), *loader = NULL;
    if (opencl_find(program, NULL, "clGetPlatformIDs") == NULL &&
        (loader = open_loader()) == NULL) {
        remedy = "; " TN_INSTALL_LOADER;
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = opencl_find(program, loader, functions[i].name);
        /* C has no cast from void * to a function pointer. */
        memcpy((char *)&tn_opencl + functions[i].place, &found, sizeof found);
        if (found == NULL && functions[i].is_needed && why_not[0] == '\0')
            snprintf(why_not, sizeof why_not, "the loader lacks %s", functions[i].name);
    }
    if (why_not[0] == '\0')
        begin();
}

tenon_status tn_opencl_load(const char *caller)
{
    TN_TRY(tn_gate_check(caller));
    tn_once_run(&once, load);
    if (why_not[0] != '\0')
        return tn_fail(TENON_ERROR_NO_OPENCL, "%s: OpenCL is not available: %s%s", caller, why_not,
                       remedy);
    return TENON_OK;
}

#endif

bool tn_opencl_has_svm(void)
{
    return tn_opencl.clEnqueueSVMMap != NULL && tn_opencl.clEnqueueSVMMemcpy != NULL &&
           tn_opencl.clEnqueueSVMUnmap != NULL && tn_opencl.clSetKernelArgSVMPointer != NULL;
}
