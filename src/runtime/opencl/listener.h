/*
 * Who listens to a driver's callbacks. A driver may keep what it is given for longer than we do (a
 * context's callback as long as anybody holds the OpenCL context), so that it gets a number in
 * place of an address: a listener that has ended is not found any more.
 */
#ifndef TN_RUNTIME_OPENCL_LISTENER_H
#define TN_RUNTIME_OPENCL_LISTENER_H

typedef struct tn_listener tn_listener;

/* `who` hears of it. NULL without memory. */
tn_listener *tn_listener_begin(void *who);

/* What the driver is given. */
void *tn_listener_number(const tn_listener *listener);

/* In the driver's callback: who listens, until left; NULL where it has ended. */
void *tn_listener_enter(void *number);
void tn_listener_leave(void *number);

/* Waits until nobody is within. */
void tn_listener_wait(tn_listener *listener);

/* Nobody enters any more; who is within may go on. */
void tn_listener_stop(tn_listener *listener);

/* Stops, waits and frees. NULL is allowed. */
void tn_listener_end(tn_listener *listener);

#endif
