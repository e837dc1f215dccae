/* Preloaded driver that does not run the kernel named by SPOILED_KERNEL, which makes its self-check
 * fail. */
#define _GNU_SOURCE
#include "preloaded.h"

__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                       const size_t *offset, const size_t *global, const size_t *local,
                       cl_uint num_events_in_wait_list, const cl_event *wait_list, cl_event *event)
{
    if (is_named_by("SPOILED_KERNEL", kernel))
        return clEnqueueMarkerWithWaitList(queue, num_events_in_wait_list, wait_list, event);
    return next_enqueue()(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                          wait_list, event);
}
