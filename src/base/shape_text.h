/* Formatting of shapes for messages. */
#ifndef TN_BASE_SHAPE_TEXT_H
#define TN_BASE_SHAPE_TEXT_H

#include <stdint.h>

/* Writes a shape as "2x3x4", or "scalar" for rank 0. Returns `text`. */
char *tn_shape_text(uint32_t rank, const int64_t *shape, char text[160]);

#endif
