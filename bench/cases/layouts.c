/* Calls on images with their channels last, compared with the same operations on
 * images in the order N C H W (the peer "nchw"). */
#include "line.h"
#include "peers/peers.h"
#include "shapes/shapes.h"

#include <stdlib.h>

/* The call with its channels last, which is the first member, and with its channels first. */
typedef struct pass {
    bench_line last, first;
} pass;

static void destroy(bench_case *bench)
{
    pass *p = bench->tenon.data;
    bench_line_destroy(&p->last);
    bench_line_destroy(&p->first);
    free(p);
}

static bool make_layout(bench_session *session, const bench_image_call *call, tenon_dtype dtype,
                        bool channels_last, bench_line *line)
{
    char text[TN_CASE_TEXT_SIZE];
    return bench_image_call_line(call, channels_last, text, sizeof text) &&
           bench_line_make(session, text, dtype, 0, line);
}

static bool add_first(bench_session *session, const bench_image_call *call, tenon_dtype dtype,
                      pass *p, bench_way *way)
{
    *way = (bench_way){"nchw", bench_line_run, false, &p->first, NULL, NULL, NULL};
    return make_layout(session, call, dtype, false, &p->first);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_image_call *call = &suite->shapes->cases[number].image_call;
    pass *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", bench_line_run, false, p, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = bench_line_verify;
    if (!make_layout(session, call, dtype, true, &p->last))
        return false;
    bench_line_describe(&p->last, bench);
    bench->bytes = bench_line_bytes(&p->last, NULL);
    BENCH_ADD_PEER(session, bench, "nchw", add_first(session, call, dtype, p, bench_way_at));
    return true;
}

const bench_kind bench_image_call_cases = {bench_case_count, bench_case_name, bench_floating, make};
