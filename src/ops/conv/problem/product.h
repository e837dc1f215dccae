/* Convolution as a matrix product: filters times columns, for a block of the output. */
#ifndef TN_OPS_CONV_PROBLEM_PRODUCT_H
#define TN_OPS_CONV_PROBLEM_PRODUCT_H

#include "ops/conv/problem/problem.h"
#include "ops/gemm/internal.h"

/* A box of the output: pixels [first, first + count) in each dimension, of images
 * [image, image + images). */
typedef struct conv_block {
    int64_t image, images;
    int64_t first[3], count[3];
} conv_block;

/* Sets `count` to at most `columns` pixels of an output image, consecutive in row-major order: a
 * box that is whole in each dimension after the first one that is cut. */
void tn_conv_cut_pixels(const conv_window *window, int64_t columns, int64_t count[3]);

/* Returns block `index` of image `image`, cut at the end of the images and of the output. */
conv_block tn_conv_block_at(const conv_window *window, int64_t images, const conv_block *largest,
                            int64_t image, const int64_t index[3]);

/* Returns the pixels in each of a block's images. */
int64_t tn_conv_block_pixels(const conv_block *block);

/* Returns the number of blocks of a convolution for a given largest block; at least one. */
double tn_conv_block_count(const conv_problem *problem, const conv_block *largest);

/* The factors of a product: strides of the filters as a matrix, and strides of the columns. */
typedef struct conv_factors {
    int64_t w_group, w_filter, w_tap;
    int64_t image, group, tap, pixel[3];
    int64_t taps; /* taps of a group: c * t * r * s */
} conv_factors;

/* The order of a filter's taps, which have a single stride: c, t, r, s or t, r, s, c. */
typedef struct conv_tap_order {
    bool channel_last;
    int64_t stride;
} conv_tap_order;

/* Returns true if four dimensions merge into one, and sets its stride. */
bool tn_conv_one_dimension(const int64_t shape[4], const int64_t stride[4], int64_t *joined);

/* Chooses the order of the taps in columns: that of the filters, or the preferred one. Returns
 * false if the filters do not have the chosen order. */
bool tn_conv_choose_tap_order(const conv_problem *p, bool prefers_last, bool may_be_last,
                              conv_tap_order *order);

/* Finds the order of the filters' taps. Returns false if it is neither. */
bool tn_conv_find_tap_order(const conv_problem *p, conv_tap_order *order);

/* A product as a child of a convolution: GEMM's problem, and the frame that maps its operands. */
typedef struct conv_product {
    gemm_problem gemm;
    tn_frame frame;
} conv_product;

/* Assigns to the product the workspace after the first `used` bytes, which the convolution uses,
 * and resets its frame. */
void tn_conv_product_after(const conv_problem *p, uint64_t used, conv_product *product);

/* Sets alpha and beta to 1, regardless of the caller's values, for a product whose result is added
 * to the previous sum. */
void tn_conv_product_sums(conv_product *product);

/* Makes the product of a block's filters and columns; its workspace starts after `used` bytes. The
 * frame maps A to w and B to x; callers that multiply copies of them in the workspace map these
 * themselves. */
tenon_status tn_conv_product(const char *caller, const conv_problem *p, const conv_block *block,
                             const conv_factors *factors, uint64_t used, conv_product *product);

double tn_conv_product_time(tenon_context *context, const conv_product *product);
tenon_status tn_conv_product_record(const char *caller, tn_recording *recording,
                                    conv_product *product);

/* Minimum estimated speedup on a GPU for which columns are preferred to a kernel without them.
 * Columns fill the workspace and the caches, and smaller differences are within the error of the
 * estimates. */
#define CONV_COLUMNS_DOUBT 1.25

/* Return the work of a launch that unfolds images into columns of `dtype`; that folds columns of
 * sums into images; that packs elements into the accumulator type (none for 0 elements). */
tn_work tn_conv_unfold_work(uint32_t dtype, double image, double columns);
tn_work tn_conv_fold_work(uint32_t dtype, double image, double columns);
tn_work tn_conv_pack_work(uint32_t dtype, double elements);

/* Functions of solvers that are a single product, made by `of` and stored as the layout of the
 * choice. They have no kernel of their own; GEMM checks its variants. */
typedef tenon_status (*conv_product_of)(const char *caller, const conv_problem *problem,
                                        conv_product *product);
const char *tn_conv_product_configure(tenon_context *context, const conv_problem *problem,
                                      conv_product_of of, tn_choice *choice);
void tn_conv_product_options(const conv_problem *problem, char text[TN_OPTIONS_SIZE]);
tenon_status tn_conv_product_launch(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice);

#endif
