/* CUDA's driver where kernels are concerned: PTX is not run, but the kernels that measure a card
 * are known by their names. FAKE_PTX_REFUSED is a text whose PTX does not load; FAKE_KERNEL_KILLED
 * a kernel that the driver ends, after which nothing works. */
#include "fake_card.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"write",   "copy",        "read",      "multiply_add",
                                    "nothing", "matrix_peak", "wgmma_peak"};
enum { WRITE, COPY, READ, MULTIPLY_ADD, NOTHING, MATRIX_PEAK, WGMMA_PEAK, KERNELS };

static bool lost; /* the context, by a kernel that was killed */

FAKE int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

FAKE int cuDeviceGet(int *device, int number)
{
    *device = 7;
    return number;
}

FAKE int cuDeviceGetName(char *name, int length, int device)
{
    strncpy(name, "a card of none", (size_t)length);
    return device == 7 ? 0 : 101;
}

FAKE int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 2 : 1;
    return device == 7 ? 0 : 101;
}

FAKE int cuModuleLoadDataEx(void **module, const char *text, unsigned count, const int *options,
                            void **values)
{
    static char loaded;
    const char *refused = getenv("FAKE_PTX_REFUSED");
    *module = &loaded;
    if (strstr(text, ".target sm_") == NULL || strstr(text, "texmode_independent") != NULL ||
        count != 5 || options[2] != 5)
        return 1;
    if (refused == NULL || strstr(text, refused) == NULL)
        return 0;
    strcpy(values[2], "ptxas error   : not on this card");
    return 218;
}

FAKE int cuModuleGetFunction(void **function, void *module, const char *name)
{
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(names[i], name) == 0) {
            *function = (void *)&names[i];
            return module != NULL ? 0 : 400;
        }
    return 500;
}

FAKE int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    *value = attribute == 4 ? 32 : 0;
    return function != NULL ? 0 : 400;
}

/* As bench/kernels/ceilings.cl has it: x = x*p + q so often, from multiples of p on. */
static float multiply_add(unsigned loops, float p, float q)
{
    float sum = 0;
    for (int i = 0; i < 16; i++) {
        float x = p * (float)i;
        for (unsigned n = 0; n < (loops < 64 ? loops : 64) * 8; n++) /* it has settled by then */
            x = x * p + q;
        sum += x;
    }
    return sum;
}

#define ARGUMENT(type, n) (*(const type *)arguments[n])

static void run(int kernel, size_t items, void *const *arguments)
{
    float *x = (float *)(uintptr_t)ARGUMENT(uint64_t, 0);
    uint64_t count;
    float value = 1;
    switch (kernel) {
    case WRITE:
        count = ARGUMENT(uint64_t, 1) * 4;
        for (uint64_t i = 0; i < count; i++)
            x[i] = ARGUMENT(float, 2);
        break;
    case COPY:
        memcpy((void *)(uintptr_t)ARGUMENT(uint64_t, 1), x, 16 * ARGUMENT(uint64_t, 2));
        break;
    case READ:
        x = (float *)(uintptr_t)ARGUMENT(uint64_t, 1);
        count = 4 * ARGUMENT(uint64_t, 2) / items;
        value = (float)(count * ARGUMENT(unsigned, 3));
        break;
    case MULTIPLY_ADD:
        value = multiply_add(ARGUMENT(unsigned, 1), ARGUMENT(float, 2), ARGUMENT(float, 3));
        break;
    case WGMMA_PEAK: /* back to 3, and then products of 1 and 1 in four times 16 steps */
        value = 128 * (3 + 64);
        break;
    default: /* in so many steps as the type has that a word of 1 is of: i8, tf32, or 16 bits */
        value = 8 * 4 *
                (3 + (ARGUMENT(unsigned, 2) == 0x01010101   ? 32
                      : ARGUMENT(unsigned, 2) == 0x3f800000 ? 8
                                                            : 16));
        break;
    }
    for (size_t i = 0; kernel >= READ && i < items; i++)
        x[i] = value;
}

FAKE int cuLaunchKernel(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                        unsigned x, unsigned y, unsigned z, unsigned shared, void *stream,
                        void **arguments, void **extra)
{
    const int kernel = (int)((const char *const *)function - names);
    const char *killed = getenv("FAKE_KERNEL_KILLED");
    if (groups_y * groups_z * y * z != 1 || shared != 0 || stream != NULL || extra != NULL)
        return 1;
    lost |= killed != NULL && strcmp(names[kernel], killed) == 0;
    if (lost)
        return 702;
    run(kernel, (size_t)groups_x * x, arguments);
    return 0;
}

FAKE int cuEventCreate(void **event, unsigned flags)
{
    *event = event;
    return (int)flags;
}

FAKE int cuEventRecord(void *event, void *stream)
{
    return event != NULL && stream == NULL ? 0 : 400;
}

FAKE int cuEventSynchronize(void *event)
{
    return lost || event == NULL ? 702 : 0;
}

FAKE int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    *milliseconds = 20;
    return begin != NULL && end != NULL ? 0 : 400;
}
