/*
 * What drivers report of an OpenCL context (the callback of clCreateContext). They may do so as
 * long as anybody holds it, so that they are given a number in place of an address.
 */
#ifndef TN_RUNTIME_REPORTS_H
#define TN_RUNTIME_REPORTS_H

#include <tenon/context.h>

typedef struct tn_reports tn_reports;

/* NULL without memory. */
tn_reports *tn_reports_begin(tenon_failure_callback callback, void *user);

/* Returns when no report is being told any more. NULL is allowed. */
void tn_reports_end(tn_reports *reports);

/* What clCreateContext is given. */
void CL_CALLBACK tn_reports_tell(const char *text, const void *data, size_t size, void *user);
void *tn_reports_user(const tn_reports *reports);

#endif
