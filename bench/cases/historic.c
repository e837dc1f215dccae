/* Training steps of historic workloads, compared with NumPy. */
#include "cases/training.h"
#include "networks/historic.h"
#include "peers/peers.h"
#include "peers/program.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return bench_historic_count();
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s", bench_historic_name(number));
}

static bool has_dtype(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    (void)suite;
    (void)number;
    return dtype == TENON_DTYPE_F32;
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    bench_historic *historic = calloc(1, sizeof *historic);
    (void)suite;
    (void)dtype;
    if (historic == NULL || !bench_historic_list(number, historic) ||
        !bench_training_case(session, &historic->training, bench))
        return false;
    BENCH_ADD_PEER(session, bench, "numpy", bench_program_step(session, historic, bench_way_at));
    return true;
}

static const bench_kind functions = {count, name_of, has_dtype, make};

const bench_suite bench_suite_historic = {
    "historic", "training steps of AlexNet and a belief network", &functions, 10, 0};
