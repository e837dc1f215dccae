/* Bits of args.flags for the operands skip and gradient_scale, and the order of both. */
#ifndef TENON_OPTIMIZER_GUARD_FLAGS_H
#define TENON_OPTIMIZER_GUARD_FLAGS_H

#define GUARD_HAS_SKIP  1024
#define GUARD_SKIP_BYTE 2048 /* the type of skip is u8 instead of i32 */
#define GUARD_HAS_SCALE 4096

#define GUARD_SKIP     0
#define GUARD_SCALE    1
#define GUARD_OPERANDS 2

#endif
