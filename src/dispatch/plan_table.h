/* The table of plans behind immediate calls. It is bounded; the least recently used plan is
 * evicted. */
#ifndef TN_DISPATCH_PLAN_TABLE_H
#define TN_DISPATCH_PLAN_TABLE_H

#include "dispatch/plan.h"

#define TN_PLAN_TABLE_CAPACITY 4096
#define TN_PLAN_TABLE_BUCKETS  8192
typedef struct tn_plan_table {
    tn_mutex lock;
    uint32_t count;
    tenon_plan *newest, *oldest;
    tenon_plan *buckets[TN_PLAN_TABLE_BUCKETS];
} tn_plan_table;

/* Returns false if memory is short. */
bool tn_plan_table_init(tn_plan_table *table);
void tn_plan_table_destroy(tn_plan_table *table);

/* Finds or creates the plan of a problem. The caller releases the reference that it gets. */
tenon_status tn_plan_table_get(const tn_request *request, tenon_plan **out);

#endif
