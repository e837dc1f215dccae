/* A library for LD_PRELOAD that overrides device information, to test processors that are not
 * available. The variable IMAGINARY_DEVICE holds words such as "units=256 cache=1073741824
 * lanes=16"; `numbers` lists all of them. Computation is not affected. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int (*get_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);

typedef struct number {
    const char *word;
    cl_device_info what;
    size_t size;
} number;

static const number numbers[] = {
    {"units=", CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint)},
    {"cache=", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong)},
    {"memory=", CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong)},
    {"allocation=", CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong)},
    {"local=", CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong)},
    {"lanes=", CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(cl_uint)},
    {"doubles=", CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, sizeof(cl_uint)},
    {"group=", CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)},
};

/* Returns the text after `word` in the variable, or NULL if the variable does not contain it. */
static const char *value_of(const char *word)
{
    const char *text = getenv("IMAGINARY_DEVICE");
    const char *found = text != NULL ? strstr(text, word) : NULL;
    return found != NULL ? found + strlen(word) : NULL;
}

static const number *number_of(cl_device_info what)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].what == what && value_of(numbers[i].word) != NULL)
            return &numbers[i];
    return NULL;
}

__attribute__((visibility("default"))) cl_int clGetDeviceInfo(cl_device_id device,
                                                              cl_device_info param_name,
                                                              size_t size, void *value,
                                                              size_t *size_ret)
{
    const number *mine = number_of(param_name);
    if (mine == NULL) {
        void *found = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetDeviceInfo");
        get_info behind;
        memcpy(&behind, &found,
               sizeof behind); /* C has no cast from void * to a function pointer */
        return behind(device, param_name, size, value, size_ret);
    }
    const unsigned long long large = strtoull(value_of(mine->word), NULL, 0);
    const cl_uint small = (cl_uint)large;
    if (value != NULL && size < mine->size)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, mine->size == sizeof small ? (const void *)&small : &large, mine->size);
    if (size_ret != NULL)
        *size_ret = mine->size;
    return CL_SUCCESS;
}
