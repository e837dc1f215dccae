#include "energy.h"

#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef BENCH_VENDORS
#include <dlfcn.h>
#endif

#define MOST_PACKAGES 16

/* A package's counter in microjoules, which wraps around after `range`. */
typedef struct package {
    char path[256];
    uint64_t last, range;
} package;

static struct {
    package packages[MOST_PACKAGES];
    int count;
    double total;             /* nanojoules so far */
    void *card;               /* NVML's device; NULL: none */
    unsigned long long first; /* NVML's counter at the beginning, in millijoules */
} meter;

static bool read_number(const char *path, uint64_t *value)
{
    FILE *file = fopen(path, "r");
    const bool well = file != NULL && fscanf(file, "%" SCNu64, value) == 1;
    if (file != NULL)
        fclose(file);
    return well;
}

/* Finds the packages of the powercap interface. Their counters may be readable only by root. */
static void find_packages(void)
{
    char range[256];
    for (int i = 0; meter.count < MOST_PACKAGES; i++) {
        package *p = &meter.packages[meter.count];
        const int length = snprintf(p->path, sizeof p->path,
                                    "%s/class/powercap/intel-rapl:%d/energy_uj", bench_sys(), i);
        snprintf(range, sizeof range, "%s/class/powercap/intel-rapl:%d/max_energy_range_uj",
                 bench_sys(), i);
        if (length >= (int)sizeof p->path || !read_number(p->path, &p->last) ||
            !read_number(range, &p->range))
            return;
        meter.count++;
    }
}

#ifdef BENCH_VENDORS
static int (*total_energy)(void *device, unsigned long long *millijoules);

/* From cl_khr_pci_bus_info: domain, bus, device and function. */
#define PCI_BUS_INFO 0x410F

static void *card_of(cl_device_id device)
{
    int (*start)(void), (*by_bus)(const char *bus, void **card);
    cl_uint at[4];
    char bus[32];
    void *card = NULL, *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (nvml == NULL || clGetDeviceInfo(device, PCI_BUS_INFO, sizeof at, at, NULL) != CL_SUCCESS)
        return NULL;
    *(void **)&start = dlsym(nvml, "nvmlInit_v2");
    *(void **)&by_bus = dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&total_energy = dlsym(nvml, "nvmlDeviceGetTotalEnergyConsumption");
    snprintf(bus, sizeof bus, "%04x:%02x:%02x.%x", at[0] & 0xffff, at[1] & 0xff, at[2] & 0xff,
             at[3] & 0xf);
    if (start == NULL || by_bus == NULL || total_energy == NULL || start() != 0 ||
        by_bus(bus, &card) != 0 || total_energy(card, &meter.first) != 0)
        return NULL;
    return card;
}

static double card_energy(void)
{
    unsigned long long now = 0;
    return total_energy(meter.card, &now) == 0 ? 1e6 * (double)(now - meter.first) : 0;
}
#else
static void *card_of(cl_device_id device)
{
    (void)device;
    return NULL;
}

static double card_energy(void)
{
    return 0;
}
#endif

const char *bench_energy_open(const bench_session *session)
{
    memset(&meter, 0, sizeof meter);
    if ((session->device.type & CL_DEVICE_TYPE_CPU) != 0)
        find_packages();
    else
        meter.card = card_of(session->device.device);
    return meter.count > 0 ? "rapl" : meter.card != NULL ? "nvml" : NULL;
}

double bench_energy_now(void)
{
    for (int i = 0; i < meter.count; i++) {
        package *p = &meter.packages[i];
        uint64_t now;
        if (!read_number(p->path, &now))
            continue;
        meter.total += 1e3 * (double)(now >= p->last ? now - p->last : now + p->range - p->last);
        p->last = now;
    }
    return meter.card != NULL ? card_energy() : meter.total;
}
