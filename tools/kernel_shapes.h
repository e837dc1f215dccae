/* The calls that `tenon kernels` plans in addition to the operations' own examples. They have sizes
 * of common networks, because parameters depend on the size. */
#ifndef TENON_TOOLS_KERNEL_SHAPES_H
#define TENON_TOOLS_KERNEL_SHAPES_H

/* In the syntax of `tenon check`, with T and S as in an operation's examples; terminated by NULL.
 */
extern const char *const kernel_shapes[];

#endif
