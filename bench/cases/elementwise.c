/* Functions of each element, comparisons, selections and arithmetic of integers, on dense vectors.
 */
#include "calls.h"

static const bench_listed_call calls[] = {
    {"copy", "copy x=T:$N y=T:$N", "np.copyto(y, x)", true, NULL, NULL},
    {"f32 to f16", "copy x=f32:$N y=f16:$N", "np.copyto(y, x, casting='unsafe')", true, NULL, NULL},
    {"f32 to i32", "copy x=f32:$N y=i32:$N", "np.copyto(y, x, casting='unsafe')", true, NULL, NULL},
    {"abs", "function x=T:$N y=T:$N kind=abs", "np.abs(x, out=y)", true, NULL, NULL},
    {"sqrt", "function x=T:$N y=T:$N kind=sqrt", "np.sqrt(x, out=y)", true, NULL, NULL},
    {"round", "function x=T:$N y=T:$N kind=round", "np.rint(x, out=y)", true, NULL, NULL},
    {"exp", "function x=T:$N y=T:$N kind=exp", "np.exp(x, out=y)", true, NULL, NULL},
    {"log", "function x=T:$N y=T:$N kind=log", "np.log(x, out=y)", true, NULL, NULL},
    {"sin", "function x=T:$N y=T:$N kind=sin", "np.sin(x, out=y)", true, NULL, NULL},
    {"tanh", "function x=T:$N y=T:$N kind=tanh", "np.tanh(x, out=y)", true, NULL, NULL},
    {"atan", "function x=T:$N y=T:$N kind=atan", "np.arctan(x, out=y)", true, NULL, NULL},
    {"erf", "function x=T:$N y=T:$N kind=erf", NULL, true, NULL, NULL},
    {"maximum", "elementwise a=T:$N b=T:$N d=T:$N kind=max", "np.maximum(a, b, out=d)", true, NULL,
     NULL},
    {"pow", "elementwise a=T:$N b=T:$N d=T:$N kind=pow", "np.power(a, b, out=d)", true, NULL, NULL},
    {"fmod", "elementwise a=T:$N b=T:$N d=T:$N kind=fmod", "np.fmod(a, b, out=d)", true, NULL,
     NULL},
    {"log(x) y, exp2",
     "elementwise_chain x0=T:$N x1=T:$N y=T:$N step_count=3 op=log,multiply,exp2 "
     "operand=scalar,x1",
     "np.log(x0, out=y); np.multiply(y, x1, out=y); np.exp2(y, out=y)", true, NULL, NULL},
    {"less", "compare a=T:$N b=T:$N d=bool:$N kind=less", "np.less(a, b, out=d)", true, NULL, NULL},
    {"is finite", "classify x=T:$N y=bool:$N kind=finite", "np.isfinite(x, out=y)", true, NULL,
     NULL},
    {"where", "where condition=bool:$N a=T:$N b=T:$N d=T:$N",
     "np.where(condition, a, b) | np.copyto(d, b); np.copyto(d, a, where=condition)", true, NULL,
     NULL},
    {"add i32", "elementwise a=i32:$N b=i32:$N d=i32:$N", "np.add(a, b, out=d)", true, NULL, NULL},
    {"multiply i32", "elementwise a=i32:$N b=i32:$N d=i32:$N kind=multiply",
     "np.multiply(a, b, out=d)", true, NULL, NULL},
    {"xor i32", "logic a=i32:$N b=i32:$N d=i32:$N kind=xor", "np.bitwise_xor(a, b, out=d)", true,
     NULL, NULL},
};
static const int64_t sizes[] = {1 << 16, 1 << 24};

const bench_call_suite bench_suite_elementwise = {
    {"elementwise", "functions, comparisons and integers", &bench_listed_calls, 0.2, 0},
    BENCH_CALLS(calls, sizes)};
