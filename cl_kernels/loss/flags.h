/* Bits of args.flag of the losses, the same on host and device. */
#ifndef TENON_LOSS_FLAGS_H
#define TENON_LOSS_FLAGS_H

#define CROSS_ENTROPY_IGNORES   1 /* a label of args.value counts nothing */
#define CROSS_ENTROPY_HAS_DLOSS 2 /* otherwise every element of it is 1 */

#define MSE_HAS_DLOSS 1 /* otherwise every element of it is 1 */

#endif
