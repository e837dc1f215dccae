/* Bits of args.flag of the losses, identical on host and device. */
#ifndef TENON_LOSS_FLAGS_H
#define TENON_LOSS_FLAGS_H

#define CROSS_ENTROPY_IGNORES   1 /* rows with the label args.value are ignored */
#define CROSS_ENTROPY_HAS_DLOSS 2 /* otherwise all its elements are 1 */

#define MSE_HAS_DLOSS 1 /* otherwise all its elements are 1 */

#endif
