/*
 * Tests shared virtual memory that is mapped by a command without an event and unmapped by one with
 * an event. PoCL 6 records a mapping only if its command has an event or waits for one. Unmapping
 * an unrecorded mapping fails, and PoCL then writes to an event that it has not created.
 */
#include "driver.h"

enum { BYTES = 256 };

static driver_outcome by_events(const driver *d, bool mapped, bool unmapped)
{
    cl_device_svm_capabilities found = 0;
    cl_event first = NULL, second = NULL;
    clGetDeviceInfo(d->device, CL_DEVICE_SVM_CAPABILITIES, sizeof found, &found, NULL);
    char *svm = found != 0 ? clSVMAlloc(d->context, CL_MEM_READ_WRITE, BYTES, 0) : NULL;
    if (svm == NULL)
        return DRIVER_UNTRIED;
    if (clEnqueueSVMMap(d->queue, CL_TRUE, CL_MAP_WRITE, svm, BYTES, 0, NULL,
                        mapped ? &first : NULL) != CL_SUCCESS)
        return DRIVER_UNTRIED;
    svm[0] = 1;
    if (clEnqueueSVMUnmap(d->queue, svm, 0, NULL, unmapped ? &second : NULL) != CL_SUCCESS ||
        clFinish(d->queue) != CL_SUCCESS)
        return DRIVER_WRONG;
    if (first != NULL)
        clReleaseEvent(first);
    if (second != NULL)
        clReleaseEvent(second);
    clSVMFree(d->context, svm);
    return DRIVER_RIGHT;
}

static driver_outcome the_end_has_an_event(const driver *d)
{
    return by_events(d, false, true);
}

static driver_outcome both_have_an_event(const driver *d)
{
    return by_events(d, true, true);
}

/* Maps without an event and unmaps with one, through Tenon's functions. */
TEST(mappings_ended_with_an_event)
{
    const int64_t shape[] = {BYTES};
    tenon_tensor view;
    void *pointer = NULL;
    cl_event event = NULL;
    if (!test_context->device.svm)
        skip();
    char *svm = clSVMAlloc(tenon_context_cl(test_context), CL_MEM_READ_WRITE, BYTES, 0);
    assert_non_null(svm);
    assert_ok(tenon_tensor_from_svm(svm, 0, TENON_DTYPE_U8, 1, shape, &view));
    assert_ok(tenon_tensor_map(test_stream, &view, TENON_MAP_WRITE, &pointer, NULL));
    assert_ok(tenon_tensor_unmap(test_stream, &view, pointer, &(tenon_sync){.event = &event}));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    tenon_memory_destroy(&view.memory);
    clSVMFree(tenon_context_cl(test_context), svm);
}

int main(void)
{
    driver_try("shared virtual memory unmapped with an event, mapped without", NULL,
               the_end_has_an_event);
    driver_try("shared virtual memory mapped and unmapped with events", NULL, both_have_an_event);
    return test_main();
}
