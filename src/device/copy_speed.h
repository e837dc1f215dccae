/* How fast a GPU copies memory, from the times of copies: no OpenCL in here. */
#ifndef TN_DEVICE_COPY_SPEED_H
#define TN_DEVICE_COPY_SPEED_H

#include "device/kind.h"

#define TN_COPY_REPEATS 9

/* Where the times come from: a device, or a test's imaginary one. */
typedef struct tn_copy_probe {
    /* Runs so many copies, one behind the other, and waits. False where the device fails. */
    bool (*run)(void *user, uint32_t copies, double *nanoseconds);
    void *user;
    double bytes; /* that a copy reads and writes, together */
    double units; /* of the device */
} tn_copy_probe;

/* Bytes in a nanosecond, read and written: the median of the repeats. False where a run fails, a
 * time is not positive, the repeats differ too much, or no device is that fast. */
bool tn_copy_speed_of(const double *nanoseconds, int count, double bytes, double units,
                      double *speed);

/* Runs enough copies at a time for the launch not to count, some 3 ms, and repeats that. */
bool tn_copy_speed_measure(const tn_copy_probe *probe, double *speed);

/* The kind with the bandwidth of a device that copies at this speed: the table's times a power of
 * the fourth root of 2. */
void tn_copy_speed_apply(const tn_device_kind *kind, double speed, tn_device_kind *out);

#endif
