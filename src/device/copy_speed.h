/* The copy bandwidth of a GPU, computed from the times of copies. Makes no OpenCL calls. */
#ifndef TN_DEVICE_COPY_SPEED_H
#define TN_DEVICE_COPY_SPEED_H

#include "device/kind.h"

#define TN_COPY_REPEATS 9

/* Source of the times: a device, or an imaginary one of a test. */
typedef struct tn_copy_probe {
    /* Runs `copies` copies in sequence and waits. Returns false if the device fails. */
    bool (*run)(void *user, uint32_t copies, double *nanoseconds);
    void *user;
    double bytes; /* read and written per copy, together */
    double units; /* compute units of the device */
} tn_copy_probe;

/* Computes bytes per nanosecond, read and written: the median of the repeats. Returns false if a
 * run failed, a time is not positive, the repeats differ too much, or the result is implausibly
 * fast. */
bool tn_copy_speed_of(const double *nanoseconds, int count, double bytes, double units,
                      double *speed);

/* Runs enough copies at a time, about 3 ms, to make launch overhead negligible, and repeats that.
 */
bool tn_copy_speed_measure(const tn_copy_probe *probe, double *speed);

/* Returns the kind with its bandwidth replaced by that of a device with this copy speed: the
 * table's value times a power of the fourth root of 2. */
void tn_copy_speed_apply(const tn_device_kind *kind, double speed, tn_device_kind *out);

#endif
