/*
 * SELECT shop, count(*), sum(cents), max(cents) FROM sales GROUP BY shop: sorts the sales by shop,
 * finds the runs of equal shops, and reduces each run. The result is compared with a plain loop.
 */
#include "try.h"

#define SALES 50000
#define SHOPS 40 /* the largest number of shops; their numbers may exceed it */

/* Sales of shops 1001, 1004, 1007 … , more in some than in others, some of them returns. */
static void make_sales(int32_t *shop, int32_t *cents)
{
    uint32_t state = 1;
    for (int i = 0; i < SALES; i++) {
        state = state * 1664525u + 1013904223u;
        shop[i] = 1001 + 3 * (int32_t)((state >> 8) % (1 + (state >> 24) % 30));
        cents[i] = (int32_t)(state >> 10 & 8191) - 500;
    }
}

static tenon_tensor make(tenon_context *context, int64_t count)
{
    tenon_tensor tensor;
    TRY(tenon_tensor_create(context, TENON_DTYPE_I32, 1, &count, &tensor));
    return tensor;
}

/* Groups on the device; everything stays there, including the number of groups. */
static void group(const int32_t *shop, const int32_t *cents, int32_t result[4][SHOPS],
                  int32_t *groups)
{
    enum { KEYS, VALUES, SORTED, MOVED, IDS, SHOP, COUNT, SUM, MOST, GROUPS, TENSORS };
    const tenon_unique_params runs = tenon_unique_params(.flags = TENON_UNIQUE_CONSECUTIVE);
    const tenon_segment_params sum = tenon_segment_params(.flags = TENON_SEGMENT_IDS);
    const tenon_segment_params most =
        tenon_segment_params(.flags = TENON_SEGMENT_IDS, .kind = TENON_SEGMENT_MAX);
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor t[TENSORS];
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    for (int i = 0; i < TENSORS; i++)
        t[i] = make(context, i < SHOP ? SALES : i == GROUPS ? 1 : SHOPS);
    TRY(tenon_tensor_upload(stream, shop, SALES * sizeof *shop, &t[KEYS], NULL));
    TRY(tenon_tensor_upload(stream, cents, SALES * sizeof *cents, &t[VALUES], NULL));

    TRY(tenon_sort(stream, NULL, &t[KEYS], &t[VALUES], &t[SORTED], NULL, &t[MOVED], NULL));
    TRY(tenon_unique(stream, &runs, &t[SORTED], &t[SHOP], NULL, &t[IDS], &t[COUNT], &t[GROUPS],
                     NULL));
    TRY(tenon_segment_reduce(stream, &sum, &t[MOVED], NULL, NULL, &t[IDS], &t[SUM], NULL));
    TRY(tenon_segment_reduce(stream, &most, &t[MOVED], NULL, NULL, &t[IDS], &t[MOST], NULL));

    for (int i = 0; i < 4; i++)
        TRY(tenon_tensor_download(stream, &t[SHOP + i], result[i], sizeof result[i], NULL));
    TRY(tenon_tensor_download(stream, &t[GROUPS], groups, sizeof *groups, NULL));
    TRY(tenon_stream_finish(stream));
    for (int i = 0; i < TENSORS; i++)
        tenon_tensor_destroy(&t[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

/* Returns true if a row of the result is that of a loop over all sales. */
static int is_right(const int32_t *shop, const int32_t *cents, int32_t result[4][SHOPS], int row)
{
    int32_t count = 0, sum = 0, most = INT32_MIN;
    for (int i = 0; i < SALES; i++)
        if (shop[i] == result[0][row]) {
            count++;
            sum += cents[i];
            most = cents[i] > most ? cents[i] : most;
        }
    return count == result[1][row] && sum == result[2][row] && most == result[3][row];
}

int main(void)
{
    static int32_t shop[SALES], cents[SALES], result[4][SHOPS];
    int32_t groups, sales = 0;
    int wrong = 0;
    make_sales(shop, cents);
    group(shop, cents, result, &groups);
    for (int row = 0; row < groups && row < SHOPS; row++) {
        if (row < 3)
            printf("shop %d: %d sales, %d cents, at most %d\n", result[0][row], result[1][row],
                   result[2][row], result[3][row]);
        wrong += !is_right(shop, cents, result, row);
        sales += result[1][row];
    }
    printf("%d shops, %d sales, %d wrong rows\n", groups, sales, wrong);
    return wrong == 0 && sales == SALES ? 0 : 1;
}
