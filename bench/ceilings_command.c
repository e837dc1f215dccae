/* tenon-bench ceilings, and the limits that run prints: measured, or from the store. */
#include "ceilings.h"
#include "device.h"
#include "device_limits.h"
#include "provenance.h"
#include "roofline.h"
#include "runtime/context/context.h"

#include <stdio.h>

/* Stores the limits if all of them were measured. */
static void store(const bench_session *session, json_t *limits)
{
    json_t *ceilings = json_pack("{s:o, s:O}", "date", bench_json_date(), "limits", limits);
    if (session->options->filter == NULL && !session->options->emulated)
        bench_ceilings_store(session, ceilings);
    json_decref(ceilings);
}

bool bench_ceilings(bench_session *session)
{
    bench_limits c;
    const double clock = bench_clock();
    bool well = bench_limits_measure(session, &c);
    if (well)
        store(session, c.list);
    json_t *document =
        json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 2, "tenon",
                  tenon_version_string(), "date", bench_json_date(), "build", bench_json_build(),
                  "device", bench_json_device(session), "host", bench_json_host(clock), "ceilings",
                  c.list, "left_out", c.left_out);
    if (session->options->json != NULL)
        well &= bench_json_write(session->options->json, document);
    else
        json_decref(document);
    return well;
}

json_t *bench_ceilings_of(bench_session *session)
{
    bench_limits c;
    json_t *ceilings = bench_ceilings_stored(session);
    if (ceilings != NULL) {
        bench_print_ceilings(ceilings);
        return ceilings;
    }
    if (session->context->persistence.store == NULL) {
        printf("no ceilings: they are kept in the store, which is off\n");
        return NULL;
    }
    const bench_options *asked = session->options;
    bench_options all = *asked;
    all.filter = NULL;
    all.emulated = false;
    session->options = &all;
    printf("measuring the limits of the device, which are stored:\n");
    const bool well = bench_limits_measure(session, &c);
    if (well) {
        store(session, c.list);
        ceilings = bench_ceilings_stored(session);
    }
    session->options = asked;
    json_decref(c.list);
    json_decref(c.left_out);
    return ceilings;
}
