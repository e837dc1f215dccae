/* Scans, sorts and selections of one vector, and sorts of rows of 1024 elements. The copy has the
 * least traffic of a pass. */
#include "calls.h"

static const bench_listed_call calls[] = {
    {"copy", "copy x=T:$N y=T:$N", "np.copyto(y, x)", true, NULL, NULL},
    {"scan", "scan x=T:$N y=T:$N", "np.cumsum(x, out=y)", false, NULL, NULL},
    {"scan exclusive", "scan x=T:$N y=T:$N flags=1", "y[0] = 0; np.cumsum(x[:-1], out=y[1:])",
     false, NULL, NULL},
    {"scan max", "scan x=T:$N y=T:$N kind=max", "np.maximum.accumulate(x, out=y)", false, NULL,
     NULL},
    {"scan rows", "scan x=T:$Rx1024 y=T:$Rx1024", "np.cumsum(x, axis=1, out=y)", true, NULL, NULL},
    {"sort", "sort x=T:$N y=T:$N", "np.copyto(y, x); y.sort()", false, NULL, NULL},
    {"sort i32", "sort x=i32:$N y=i32:$N", "np.copyto(y, x); y.sort()", false, NULL, NULL},
    {"argsort", "sort x=T:$N y=T:$N indices=i32:$N",
     "i = np.argsort(x, kind='stable'); np.take(x, i, out=y); indices[...] = i", false, NULL, NULL},
    {"sort rows", "sort x=T:$Rx1024 y=T:$Rx1024", "np.copyto(y, x); y.sort(axis=1)", true, NULL,
     NULL},
    {"top_k 32", "sort tenon_top_k x=T:$N y=T:32 indices=i32:32",
     "i = np.argpartition(x, -32)[-32:]; i = i[np.argsort(-x[i])]; y[...] = x[i]; "
     "indices[...] = i",
     false, NULL, NULL},
    {"search_sorted", "search_sorted sorted=T:$N values=T:$N indices=i32:$N",
     "indices[...] = np.searchsorted(sorted, values)", false, NULL, NULL},
    {"compact", "compact mask=bool:$N x=T:$N y=T:$N count=i32:",
     "r = x[mask]; y[:len(r)] = r; count[...] = len(r)", false, NULL, NULL},
    {"nonzero", "compact mask=bool:$N indices=i32:$N count=i32:",
     "r = np.flatnonzero(mask); indices[:len(r)] = r; count[...] = len(r)", false, NULL, NULL},
};
static const int64_t sizes[] = {1 << 10, 1 << 16, 1 << 20, 1 << 24};

const bench_call_suite bench_suite_sorting = {
    {"sorting", "scans, sorts and selections", &bench_listed_calls, 0.2, 0},
    BENCH_CALLS(calls, sizes)};
