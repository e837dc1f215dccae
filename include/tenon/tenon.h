/** @file
 * Tenon: tensor operations on OpenCL. This header includes all others.
 *
 * Start with context.h (a device and its cached state), stream.h (a queue and the ordering of
 * work), tensor.h (memory and views) and status.h (errors), then read an operation, for example
 * gemm.h. plan.h is for calls that are repeated many times. The guide, with examples, is
 * docs/guide.md in the sources; Debian installs it in /usr/share/doc/libtenon-dev.
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <tenon/activation.h>
#include <tenon/blas.h>
#include <tenon/checkpoint.h>
#include <tenon/compact.h>
#include <tenon/concat.h>
#include <tenon/context.h>
#include <tenon/conv.h>
#include <tenon/conv_backward.h>
#include <tenon/conv_transpose.h>
#include <tenon/device.h>
#include <tenon/dlpack.h>
#include <tenon/dropout.h>
#include <tenon/elementwise.h>
#include <tenon/epilogue.h>
#include <tenon/function.h>
#include <tenon/gated.h>
#include <tenon/gather.h>
#include <tenon/gemm.h>
#include <tenon/group.h>
#include <tenon/grid_sample.h>
#include <tenon/histogram.h>
#include <tenon/loss.h>
#include <tenon/lrn.h>
#include <tenon/norm.h>
#include <tenon/optimizer.h>
#include <tenon/packed.h>
#include <tenon/pad.h>
#include <tenon/parallel.h>
#include <tenon/plan.h>
#include <tenon/pool.h>
#include <tenon/prelu.h>
#include <tenon/query.h>
#include <tenon/random.h>
#include <tenon/rearrange.h>
#include <tenon/reduce.h>
#include <tenon/scan.h>
#include <tenon/resize.h>
#include <tenon/roi_align.h>
#include <tenon/segment.h>
#include <tenon/select.h>
#include <tenon/rnn.h>
#include <tenon/sequence.h>
#include <tenon/softmax.h>
#include <tenon/sort.h>
#include <tenon/statistics.h>
#include <tenon/status.h>
#include <tenon/store.h>
#include <tenon/stream.h>
#include <tenon/tensor.h>
#include <tenon/transport.h>
#include <tenon/unique.h>
#include <tenon/version.h>

#endif
