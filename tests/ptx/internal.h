/* Declarations shared by the interpreter's source files. */
#ifndef PTX_INTERNAL_H
#define PTX_INTERNAL_H

#include "machine.h"
#include "operations.h"

#include <setjmp.h>

#define LANES      32
#define MAX_WARPS  32
#define BARRIERS   16
#define CALL_DEPTH 8
#define POISON     0xfff7fff7fff7fff7u /* NaN as f16, bf16, f32 and f64 */

/* Windows of generic addresses. Global memory is below them. */
#define WINDOW        ((uint64_t)1 << 48)
#define SHARED_WINDOW (1 * WINDOW)
#define LOCAL_WINDOW  (2 * WINDOW)
#define PARAM_WINDOW  (3 * WINDOW)

typedef uint64_t lanes[LANES];

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* A cp.async in flight. */
typedef struct copy {
    uint32_t to;
    uint64_t from;
    int size, read; /* bytes written; bytes read from the source, the rest being zeros */
    int lane;
    uint32_t group;
} copy;

/* A wgmma in flight: the shared memory that it reads, and its group. */
typedef struct product {
    uint32_t group;
    uint64_t serial;
    int piece_count;
    uint32_t *pieces; /* addresses of 16-byte pieces */
} product;

typedef struct warp {
    int number;
    uint32_t alive;  /* lanes that have not ended */
    uint32_t parked; /* lanes that wait at their pc for the others of the warp */
    int pc[LANES];
    lanes *r;
    uint32_t carry;   /* carry flags of add.cc, one bit per lane */
    int waiting;      /* the barrier that the warp waits at, or -1 */
    int depth[LANES]; /* call depth */
    int back[CALL_DEPTH][LANES];
    /* Vector clock of the warp: its own component counts its barriers, synchronizations and fences.
     * An access at time t of warp v happened before if clock[v] >= t. */
    uint32_t clock[MAX_WARPS];
    uint32_t fenced[MAX_WARPS]; /* vector clock of the writes that are visible to the async proxy */
    uint32_t fence_lanes; /* lanes that have executed a fence which other lanes have not reached */
    uint32_t lanes_met;   /* time at which its lanes last synchronized with one another */
    /* cp.async */
    copy *copies;
    int copy_count, copy_capacity;
    uint32_t copy_groups[LANES]; /* committed groups */
    /* wgmma */
    product *products;
    int product_count, product_capacity;
    uint32_t product_groups; /* committed groups */
    uint64_t serial,
        done; /* serial numbers of the last product issued and the last known to have completed */
    uint64_t *taken;       /* per register: serial number of the last product that uses it */
    uint64_t *touched;     /* per register: time of the last other access */
    uint64_t fence;        /* time of the last wgmma.fence; 0: never */
    uint64_t *descriptors; /* operands of its products, to compare within the warpgroup */
    int descriptor_count, descriptor_capacity;
} warp;

typedef struct barrier {
    uint32_t arrived, expected; /* threads; 0: none have arrived */
    uint32_t waiting;           /* bit mask of warps */
    uint32_t clock[MAX_WARPS], fenced[MAX_WARPS];
} barrier;

/* State of a byte of shared memory. */
typedef struct shadow {
    uint32_t written;     /* time of the last write by the writer's clock; 0: never */
    uint8_t writer, lane; /* warp and lane of the last write */
    uint8_t coming;       /* 1 if a cp.async in flight writes it */
    uint16_t products;    /* number of wgmma in flight that read it */
} shadow;

typedef struct machine {
    const ptx_launch *launch;
    const ptx_program *program;
    ptx_counts *counts;
    uint32_t group[3];
    int warp_count;
    uint32_t item_count;
    warp warps[MAX_WARPS];
    barrier barriers[BARRIERS];
    unsigned char *shared, *local, *params;
    shadow *shadows;
    uint32_t *read_at;        /* [byte][warp]: time of the last read */
    uint8_t *read_by;         /* lane of the last read; 255: several */
    const ptx_buffer *recent; /* the buffer that was accessed last */
    const ptx_instruction *now;
    warp *acting;
    uint64_t time, random;
    char *message;
    jmp_buf failed;
} machine;

_Noreturn void machine_fail(machine *m, int lane, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

uint64_t draw(machine *m);

/* --- registers --- */
/* Returns an operand's value in every lane: a pointer to the register, or `room` filled in. */
const uint64_t *fetch(machine *m, warp *w, const ptx_operand *o, lanes room);
void put(machine *m, warp *w, const ptx_operand *o, const uint64_t *values, uint32_t mask);
/* Reports an access to a register that a wgmma in flight uses. */
void touch(machine *m, warp *w, int number);

/* --- memory --- */
uint64_t address_of(machine *m, warp *w, const ptx_operand *o, int lane);
/* Returns the host address of an access, after checking and recording it. */
unsigned char *memory_at(machine *m, ptx_space space, uint64_t address, size_t size, bool write,
                         const void *value, int lane);
const unsigned char *global_at(machine *m, uint64_t address, size_t size, int lane);
void note_read(machine *m, uint32_t at, size_t size, int lane);
void note_write(machine *m, uint32_t at, size_t size, int lane, const void *value);
void check_shared(machine *m, uint64_t at, size_t size, int lane);
void run_load(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_store(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_atomic(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_address(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);

/* --- arithmetic --- */
/* Returns false if the instruction is not integer arithmetic. */
bool run_arithmetic(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
bool run_float(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_compare(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_convert(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_move(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_shuffle(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_vote(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_redux(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
uint64_t extended(ptx_type type, uint64_t bits);

/* --- numbers --- */
double to_double(ptx_type type, uint64_t bits);
uint64_t from_double(ptx_type type, double x, ptx_round round);
/* Rounds to an integer. */
double rounded_whole(double x, ptx_round round);
float f32_of(uint64_t bits);
uint64_t bits_of_f32(float x);
/* Returns the value of an element of f16, bf16, tf32, f32, s8 or u8. */
float element_value(ptx_type type, uint32_t bits);

/* --- asynchronous instructions --- */
void run_cp_async(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void run_wgmma(machine *m, warp *w, const ptx_instruction *i, uint32_t mask);
void note_proxy_fence(machine *m, warp *w, uint32_t mask);

/* --- matrices --- */
void run_mma(machine *m, warp *w, const ptx_instruction *i);
void run_ldmatrix(machine *m, warp *w, const ptx_instruction *i);
void run_stmatrix(machine *m, warp *w, const ptx_instruction *i);
void multiply_group(machine *m, warp *w, const ptx_instruction *i);

/* --- control --- */
void branch(warp *w, uint32_t mask, int to);
/* Runs up to `count` instructions, or until the warp waits or has ended. */
void run_warp(machine *m, warp *w, uint64_t count);

/* Returns the next lane of `mask` after `lane`, or LANES. */
static inline int next_lane(uint32_t mask, int lane)
{
    const uint64_t left = (uint64_t)mask >> (lane + 1);
    return left == 0 ? LANES : lane + 1 + __builtin_ctzll(left);
}

#define EACH_LANE(lane, mask)                                                                      \
    int lane = next_lane(mask, -1);                                                                \
    lane < LANES;                                                                                  \
    lane = next_lane(mask, lane)

#endif
