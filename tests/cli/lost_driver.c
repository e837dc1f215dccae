/* Preloaded driver whose device is lost as soon as the kernel named by LOST_KERNEL is launched:
 * this and all later launches and waits fail on the first device that launches it. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <stdatomic.h>

typedef cl_int (*finish_queue)(cl_command_queue);

static _Atomic(cl_device_id) lost;

static cl_device_id device_of(cl_command_queue queue)
{
    cl_device_id device = NULL;
    (void)clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    return device;
}

__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                       const size_t *offset, const size_t *global, const size_t *local,
                       cl_uint num_events_in_wait_list, const cl_event *wait_list, cl_event *event)
{
    cl_device_id none = NULL, device = device_of(queue);
    if (is_named_by("LOST_KERNEL", kernel))
        (void)atomic_compare_exchange_strong(&lost, &none, device);
    if (atomic_load(&lost) == device)
        return CL_OUT_OF_RESOURCES;
    return next_enqueue()(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                          wait_list, event);
}

__attribute__((visibility("default"))) cl_int clFinish(cl_command_queue queue)
{
    void *next = dlsym(RTLD_NEXT, "clFinish");
    finish_queue finish;
    memcpy(&finish, &next, sizeof finish);
    return atomic_load(&lost) == device_of(queue) ? CL_OUT_OF_RESOURCES : finish(queue);
}
