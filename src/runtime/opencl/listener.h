/* Listeners for a driver's callbacks. A driver may keep a callback's user data longer than Tenon
 * keeps the object (a context's callback lives as long as anybody holds the OpenCL context). The
 * driver is therefore given a number instead of an address, and a listener that has ended is no
 * longer found. */
#ifndef TN_RUNTIME_OPENCL_LISTENER_H
#define TN_RUNTIME_OPENCL_LISTENER_H

typedef struct tn_listener tn_listener;

/* Registers `who` as a listener. Returns NULL if memory is short. */
tn_listener *tn_listener_begin(void *who);

/* Returns the number to give to the driver as user data. */
void *tn_listener_number(const tn_listener *listener);

/* Called inside the driver's callback: returns `who`, which stays valid until tn_listener_leave;
 * NULL if the listener has ended. */
void *tn_listener_enter(void *number);
void tn_listener_leave(void *number);

/* Waits until no callback is inside. */
void tn_listener_wait(tn_listener *listener);

/* Lets no further callback enter; callbacks that are inside may finish. */
void tn_listener_stop(tn_listener *listener);

/* Stops the listener, waits for its callbacks and frees it. NULL is allowed. */
void tn_listener_end(tn_listener *listener);

#endif
