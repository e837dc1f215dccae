/* Random numbers and draws. NumPy's generator is PCG64, Tenon's is Philox. */
#include "calls.h"

static const bench_listed_call calls[] = {
    {"uniform", "random y=T:$N", "random.random(out=y, dtype=y.dtype)", true, NULL, NULL},
    {"normal", "random y=T:$N kind=normal", "random.standard_normal(out=y, dtype=y.dtype)", true,
     NULL, NULL},
    {"bernoulli", "bernoulli p=T:$N y=T:$N",
     "np.less(random.random(len(p), dtype=p.dtype), p, out=y, casting='unsafe')", true, NULL, NULL},
    {"dropout", "dropout x=T:$N y=T:$N probability=0.5",
     "np.multiply(x, random.random(len(x), dtype=x.dtype) >= 0.5, out=y); np.multiply(y, 2, out=y)",
     true, NULL, NULL},
    {"categorical", "categorical x=T:$Rx1024 y=i32:$R", NULL, true, NULL, NULL},
    {"permutation", "permutation y=i32:$N", "y[...] = random.permutation(len(y))", false, NULL,
     NULL},
};
static const int64_t sizes[] = {1 << 16, 1 << 20, 1 << 24};

const bench_call_suite bench_suite_random = {
    {"random", "random numbers and draws", &bench_listed_calls, 0.2, 0}, BENCH_CALLS(calls, sizes)};
