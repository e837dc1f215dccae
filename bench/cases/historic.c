/* Training steps of historic workloads, compared with NumPy. */
#include "cases/training.h"
#include "networks/historic.h"
#include "peers/peers.h"
#include "peers/program.h"
#include "shapes/shapes.h"

#include <stdlib.h>

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    bench_historic *historic = calloc(1, sizeof *historic);
    (void)dtype;
    if (historic == NULL)
        return false;
    if (!bench_historic_list(&suite->shapes->cases[number].historic, historic)) {
        bench_complain("%s has too many values or steps", bench->name);
        free(historic);
        return false;
    }
    if (!bench_training_case(session, &historic->training, bench))
        return false;
    BENCH_ADD_PEER(session, bench, "numpy", bench_program_step(session, historic, bench_way_at));
    return true;
}

const bench_kind bench_historic_cases = {bench_case_count, bench_case_name, bench_only_f32, make};
