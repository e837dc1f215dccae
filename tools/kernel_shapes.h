/* The calls beyond the operations' own examples that `tenon kernels` plans: of the sizes that
 * networks have, where parameters are chosen by size. */
#ifndef TENON_TOOLS_KERNEL_SHAPES_H
#define TENON_TOOLS_KERNEL_SHAPES_H

/* In the words of `tenon check`, with T and S as in an operation's examples; ended by NULL. */
extern const char *const kernel_shapes[];

#endif
