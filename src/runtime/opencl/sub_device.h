/* Sub-devices: equal parts of a device, which are devices themselves. */
#ifndef TN_RUNTIME_OPENCL_SUB_DEVICE_H
#define TN_RUNTIME_OPENCL_SUB_DEVICE_H

#include "base/status.h"

#include <tenon/device.h>

/* The part of a selector that begins at its last slash: "/2:1" is part 1 of 2. */
typedef struct tn_device_part {
    uint32_t parts; /* 0: the selector has no such part, and selects a whole device */
    uint32_t index;
} tn_device_part;

/* Reads the end of a selector. `length` receives the length of what precedes it. A text that does
 * not have the form "/N" or "/N:K" belongs to the name of a device. */
tn_device_part tn_device_part_read(const char *selector, size_t *length);

/* Replaces the device of `info` by a part of it: the handle, the number of compute units and the
 * selector. Equal parts have equal handles, which stay valid until the process ends. */
tenon_status tn_device_part_open(const char *caller, tn_device_part part, tenon_device_info *info);

#endif
