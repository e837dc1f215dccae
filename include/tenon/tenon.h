/** @file
 * Tenon: tensor operations on OpenCL. This header includes all others.
 *
 * To begin with: context.h (a device and what is kept of it), stream.h (a queue, and the rules of
 * what runs when), tensor.h (memory and views), status.h (failures), and then the operations, of
 * which gemm.h is as good as any; plan.h is for calls that are made again and again. The guide,
 * with examples, is docs/guide.md of the source; on Debian it lies in
 * /usr/share/doc/libtenon-dev.
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <tenon/activation.h>
#include <tenon/blas.h>
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
#include <tenon/gated.h>
#include <tenon/gather.h>
#include <tenon/gemm.h>
#include <tenon/loss.h>
#include <tenon/norm.h>
#include <tenon/optimizer.h>
#include <tenon/packed.h>
#include <tenon/pad.h>
#include <tenon/plan.h>
#include <tenon/pool.h>
#include <tenon/prelu.h>
#include <tenon/random.h>
#include <tenon/reduce.h>
#include <tenon/softmax.h>
#include <tenon/statistics.h>
#include <tenon/status.h>
#include <tenon/store.h>
#include <tenon/stream.h>
#include <tenon/tensor.h>
#include <tenon/version.h>

#endif
