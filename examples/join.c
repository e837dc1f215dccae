/*
 * SELECT region, sum(cents) FROM orders JOIN customers ON orders.customer = customers.id GROUP BY
 * region: sorts the customers by id, looks up the customer of each order, and adds the orders of
 * each region. Orders of unknown customers are left out. The result is compared with a plain loop.
 */
#include "try.h"

#define ORDERS    20000
#define CUSTOMERS 900
#define REGIONS   12

/* Customers have scattered ids in no order; one order in ten is of an unknown customer. */
static void make_tables(int32_t *id, int32_t *region, int32_t *customer, int32_t *cents)
{
    uint32_t state = 7;
    for (int i = 0; i < CUSTOMERS; i++) {
        id[i] = 100 + i * 617 % CUSTOMERS * 13; /* 617 and 900 have no common divisor */
        region[i] = (i * i + i / 7) % REGIONS;
    }
    for (int i = 0; i < ORDERS; i++) {
        state = state * 1664525u + 1013904223u;
        customer[i] = id[(state >> 8) % CUSTOMERS] + (i % 10 == 0);
        cents[i] = (int32_t)(state >> 16 & 4095);
    }
}

static tenon_tensor make(tenon_context *context, tenon_stream *stream, int64_t count,
                         const int32_t *data)
{
    tenon_tensor tensor;
    TRY(tenon_tensor_create(context, TENON_DTYPE_I32, 1, &count, &tensor));
    if (data != NULL)
        TRY(tenon_tensor_upload(stream, data, (size_t)count * sizeof *data, &tensor, NULL));
    return tensor;
}

/* Writes the sums of the regions, and the number of orders with a known customer. */
static void join(const int32_t *id, const int32_t *region, const int32_t *customer,
                 const int32_t *cents, int32_t *sums, int32_t *matches)
{
    const tenon_compare_params equal = tenon_compare_params(.kind = TENON_COMPARE_EQUAL);
    const tenon_segment_params by_id = tenon_segment_params(.flags = TENON_SEGMENT_IDS);
    tenon_context *context;
    tenon_stream *stream;
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    const int64_t orders[] = {ORDERS};
    tenon_tensor ids = make(context, stream, CUSTOMERS, id);
    tenon_tensor regions = make(context, stream, CUSTOMERS, region);
    tenon_tensor sorted = make(context, stream, CUSTOMERS, NULL);
    tenon_tensor moved = make(context, stream, CUSTOMERS, NULL);
    tenon_tensor wanted = make(context, stream, ORDERS, customer);
    tenon_tensor values = make(context, stream, ORDERS, cents);
    tenon_tensor place = make(context, stream, ORDERS, NULL);
    tenon_tensor a = make(context, stream, ORDERS, NULL), b = make(context, stream, ORDERS, NULL);
    tenon_tensor total = make(context, stream, REGIONS, NULL);
    tenon_tensor count = make(context, stream, 1, NULL), known;
    TRY(tenon_tensor_create(context, TENON_DTYPE_BOOL, 1, orders, &known));

    /* The place of each order's customer among the sorted ones; a missing one has another id, or
     * a place behind the last, which gather reads as 0. */
    TRY(tenon_sort(stream, NULL, &ids, &regions, &sorted, NULL, &moved, NULL));
    TRY(tenon_search_sorted(stream, NULL, &sorted, &wanted, &place, NULL));
    TRY(tenon_gather_forward(stream, NULL, &sorted, &place, &a, NULL));
    TRY(tenon_compare(stream, &equal, &a, &wanted, &known, NULL));
    /* The regions and amounts of the known orders; the rest of the rows is 0. */
    TRY(tenon_gather_forward(stream, NULL, &moved, &place, &a, NULL));
    TRY(tenon_compact(stream, NULL, &known, &a, &b, NULL, &count, NULL));
    TRY(tenon_compact(stream, NULL, &known, &values, &a, NULL, &count, NULL));
    /* Sorted by region, whose numbers are those of the segments. */
    TRY(tenon_sort(stream, NULL, &b, &a, &place, NULL, &values, NULL));
    TRY(tenon_segment_reduce(stream, &by_id, &values, NULL, NULL, &place, &total, NULL));

    TRY(tenon_tensor_download(stream, &total, sums, REGIONS * sizeof *sums, NULL));
    TRY(tenon_tensor_download(stream, &count, matches, sizeof *matches, NULL));
    TRY(tenon_stream_finish(stream));
    tenon_tensor *const made[] = {&ids,   &regions, &sorted, &moved, &wanted, &values,
                                  &place, &a,       &b,      &total, &count,  &known};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tenon_tensor_destroy(made[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

int main(void)
{
    static int32_t id[CUSTOMERS], region[CUSTOMERS], customer[ORDERS], cents[ORDERS];
    int32_t sums[REGIONS], wanted[REGIONS] = {0}, matches, known = 0, wrong = 0;
    make_tables(id, region, customer, cents);
    join(id, region, customer, cents, sums, &matches);
    for (int o = 0; o < ORDERS; o++)
        for (int c = 0; c < CUSTOMERS; c++)
            if (customer[o] == id[c]) {
                wanted[region[c]] += cents[o];
                known++;
            }
    for (int r = 0; r < REGIONS; r++) {
        wrong += sums[r] != wanted[r];
        if (r < 3)
            printf("region %d: %d cents\n", r, sums[r]);
    }
    printf("%d of %d orders have a customer, %d wrong sums\n", matches, ORDERS, wrong);
    return wrong == 0 && matches == known ? 0 : 1;
}
