/* Gathering, scattering and rearranging: rows of 1024 elements, and single elements. */
#include "calls.h"

static const bench_listed_call calls[] = {
    {"copy", "copy x=T:$N y=T:$N", "np.copyto(y, x)", true, NULL, NULL},
    {"gather rows", "gather x=T:$Rx1024 indices=i32:$R y=T:$Rx1024",
     "np.take(x, indices, axis=0, out=y, mode='clip')", false, "x", "R"},
    {"gather", "gather x=T:$N indices=i32:$N y=T:$N", "np.take(x, indices, out=y, mode='clip')",
     false, "x", "N"},
    {"gather elements", "gather x=T:$Rx1024 indices=i32:$Rx1024 y=T:$Rx1024 axis=1 mode=elements",
     "y[...] = np.take_along_axis(x, indices, axis=1)", true, "x", "1024"},
    {"gather rows dx", "gather_backward dy=T:$Rx1024 indices=i32:$R dx=T:$Rx1024",
     "dx.fill(0); np.add.at(dx, indices, dy)", false, NULL, "R"},
    {"scatter", "scatter updates=T:$N indices=i32:$N y=T:$N", "y[indices] = updates", false, NULL,
     "N"},
    {"scatter add", "scatter updates=T:$N indices=i32:$N y=T:$N op=add",
     "np.add.at(y, indices, updates)", false, NULL, "N"},
    {"scatter rows", "scatter updates=T:$Rx1024 indices=i32:$R y=T:$Rx1024", "y[indices] = updates",
     false, NULL, "R"},
    {"roll", "rearrange x=T:$Rx1024 y=T:$Rx1024 shift=0,7",
     "y[:, 7:] = x[:, :-7]; y[:, :7] = x[:, -7:]", true, NULL, NULL},
    {"flip rows", "rearrange x=T:$Rx1024 y=T:$Rx1024 flip=2", "np.copyto(y, x[:, ::-1])", true,
     NULL, NULL},
    {"tile", "rearrange x=T:$Rx256 y=T:$Rx1024", "np.copyto(y.reshape(-1, 4, 256), x[:, None, :])",
     true, NULL, NULL},
    {"triangle", "rearrange tenon_triangle x=T:$Rx1024 y=T:$Rx1024", "np.copyto(y, np.tril(x))",
     false, NULL, NULL},
    {"one_hot", "rearrange tenon_one_hot indices=i32:$R y=T:$Rx1024",
     "y.fill(0); y[np.arange(len(y)), indices] = 1", true, NULL, "1024"},
    {"depth_to_space", "copy tenon_depth_to_space x=T:$Rx64x4x4 y=T:$Rx16x8x8 block=2",
     "np.copyto(y.reshape(-1, 16, 4, 2, 4, 2), "
     "x.reshape(-1, 2, 2, 16, 4, 4).transpose(0, 3, 4, 1, 5, 2))",
     true, NULL, NULL},
    {"channel_shuffle", "copy tenon_channel_shuffle x=T:$Rx64x4x4 y=T:$Rx64x4x4 groups=8",
     "np.copyto(y.reshape(-1, 8, 8, 16), x.reshape(-1, 8, 8, 16).transpose(0, 2, 1, 3))", true,
     NULL, NULL},
};
static const int64_t sizes[] = {1 << 20, 1 << 24};

const bench_call_suite bench_suite_indexing = {
    {"indexing", "gather, scatter and rearrangements", &bench_listed_calls, 0.2, 0},
    BENCH_CALLS(calls, sizes)};
