/* CLBlast's functions, in two instances of the library: one with its default parameters, and one
 * with the results of its tuners. Parameters belong to a device, and to change them discards the
 * compiled kernels, so one instance cannot alternate between them. */
#ifndef BENCH_CLBLAST_H
#define BENCH_CLBLAST_H

#include "editions.h"

#include <clblast_c.h>

typedef struct bench_clblast_library {
    __typeof__(CLBlastSgemm) *sgemm;
    __typeof__(CLBlastDgemm) *dgemm;
    __typeof__(CLBlastSgemmStridedBatched) *sgemm_batched;
    __typeof__(CLBlastDgemmStridedBatched) *dgemm_batched;
    __typeof__(CLBlastOverrideParameters) *override_parameters;
} bench_clblast_library;

/* Returns an instance. That for tuned parameters is loaded by the first call; NULL if that fails,
 * which is noted as the reason. */
const bench_clblast_library *bench_clblast_of(bench_edition edition);

/* Returns true if bench_clblast_tune has set the parameters of a device. */
bool bench_clblast_is_tuned(void);

#endif
