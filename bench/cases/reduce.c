/* Reductions of whole vectors, and of rows or columns of matrices with 1024 columns. */
#include "calls.h"

static const bench_listed_call calls[] = {
    {"sum", "reduce x=T:$N y=T:", "y[...] = x.sum()", false, NULL, NULL},
    {"max", "reduce x=T:$N y=T: kind=max", "y[...] = x.max()", false, NULL, NULL},
    {"norm", "reduce x=T:$N y=T: kind=norm", "y[...] = np.sqrt(np.dot(x, x))", false, NULL, NULL},
    {"argmax", "reduce x=T:$N y=i32: kind=argmax axis_count=1 axes=0", "y[...] = x.argmax()", false,
     NULL, NULL},
    {"sum rows", "reduce x=T:$Rx1024 y=T:$R axis_count=1 axes=1", "np.sum(x, axis=1, out=y)", true,
     NULL, NULL},
    {"sum columns", "reduce x=T:$Rx1024 y=T:1024 axis_count=1 axes=0", "np.sum(x, axis=0, out=y)",
     false, NULL, NULL},
    {"sum_abs rows", "reduce x=T:$Rx1024 y=T:$R kind=sum_abs axis_count=1 axes=1",
     "np.sum(np.abs(x), axis=1, out=y)", true, NULL, NULL},
    {"max_abs rows", "reduce x=T:$Rx1024 y=T:$R kind=max_abs axis_count=1 axes=1",
     "np.max(np.abs(x), axis=1, out=y)", true, NULL, NULL},
    {"variance rows", "reduce x=T:$Rx1024 y=T:$R kind=variance axis_count=1 axes=1",
     "np.var(x, axis=1, out=y)", true, NULL, NULL},
    {"argmax rows", "reduce x=T:$Rx1024 y=i32:$R kind=argmax axis_count=1 axes=1",
     "y[...] = np.argmax(x, axis=1)", true, NULL, NULL},
    {"argmin columns", "reduce x=T:$Rx1024 y=i32:1024 kind=argmin axis_count=1 axes=0",
     "y[...] = np.argmin(x, axis=0)", false, NULL, NULL},
    {"log_sum_exp rows", "reduce x=T:$Rx1024 y=T:$R kind=log_sum_exp axis_count=1 axes=1",
     "m = x.max(axis=1, keepdims=True); e = x - m; np.exp(e, out=e); "
     "np.add(np.log(e.sum(axis=1)), m[:, 0], out=y)",
     true, NULL, NULL},
    {"count rows", "reduce x=T:$Rx1024 y=i32:$R kind=count axis_count=1 axes=1",
     "y[...] = np.count_nonzero(x, axis=1)", true, NULL, NULL},
    {"any rows bool", "reduce x=bool:$Rx1024 y=bool:$R kind=any axis_count=1 axes=1",
     "np.any(x, axis=1, out=y)", true, NULL, NULL},
};
static const int64_t sizes[] = {1 << 16, 1 << 20, 1 << 24};

const bench_call_suite bench_suite_reduce = {
    {"reduce", "reductions of vectors, rows and columns", &bench_listed_calls, 0.2, 0},
    BENCH_CALLS(calls, sizes)};
