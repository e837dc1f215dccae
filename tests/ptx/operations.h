/* Instructions that the interpreter supports, by the first part of their names. */
#ifndef PTX_OPERATIONS_H
typedef enum ptx_op {
    PTX_OP_abs,
    PTX_OP_activemask,
    PTX_OP_add,
    PTX_OP_addc,
    PTX_OP_and,
    PTX_OP_atom,
    PTX_OP_bar,
    PTX_OP_barrier,
    PTX_OP_bfe,
    PTX_OP_bfi,
    PTX_OP_bra,
    PTX_OP_brev,
    PTX_OP_brx,
    PTX_OP_call,
    PTX_OP_clz,
    PTX_OP_copysign,
    PTX_OP_cos,
    PTX_OP_cp,
    PTX_OP_cvt,
    PTX_OP_cvta,
    PTX_OP_div,
    PTX_OP_dp4a,
    PTX_OP_ex2,
    PTX_OP_exit,
    PTX_OP_fence,
    PTX_OP_fma,
    PTX_OP_ld,
    PTX_OP_ldmatrix,
    PTX_OP_ldu,
    PTX_OP_lg2,
    PTX_OP_lop3,
    PTX_OP_mad,
    PTX_OP_max,
    PTX_OP_membar,
    PTX_OP_min,
    PTX_OP_mma,
    PTX_OP_mov,
    PTX_OP_mul,
    PTX_OP_nanosleep,
    PTX_OP_neg,
    PTX_OP_not,
    PTX_OP_or,
    PTX_OP_popc,
    PTX_OP_prefetch,
    PTX_OP_prmt,
    PTX_OP_rcp,
    PTX_OP_red,
    PTX_OP_redux,
    PTX_OP_rem,
    PTX_OP_ret,
    PTX_OP_rsqrt,
    PTX_OP_selp,
    PTX_OP_setmaxnreg,
    PTX_OP_setp,
    PTX_OP_shf,
    PTX_OP_shfl,
    PTX_OP_shl,
    PTX_OP_shr,
    PTX_OP_sin,
    PTX_OP_sqrt,
    PTX_OP_st,
    PTX_OP_stmatrix,
    PTX_OP_sub,
    PTX_OP_subc,
    PTX_OP_tanh,
    PTX_OP_trap,
    PTX_OP_vote,
    PTX_OP_wgmma,
    PTX_OP_xor,
    PTX_OP_COUNT
} ptx_op;

/* Operations of cp.async and wgmma, and modes of others, which later parts of the name select. */
typedef enum ptx_variant {
    PTX_PLAIN,
    PTX_COPY,     /* cp.async.ca, .cg */
    PTX_COMMIT,   /* .commit_group */
    PTX_WAIT,     /* .wait_group N */
    PTX_WAIT_ALL, /* cp.async.wait_all */
    PTX_ORDER,    /* wgmma.fence */
    PTX_MULTIPLY, /* wgmma.mma_async */
    PTX_MODE_UP,  /* shfl */
    PTX_MODE_DOWN,
    PTX_MODE_BFLY,
    PTX_MODE_IDX,
    PTX_MODE_ALL, /* vote */
    PTX_MODE_ANY,
    PTX_MODE_UNI,
    PTX_MODE_BALLOT,
    PTX_MODE_ADD, /* atom, red, redux */
    PTX_MODE_EXCH,
    PTX_MODE_CAS,
    PTX_MODE_MIN,
    PTX_MODE_MAX,
    PTX_MODE_INC,
    PTX_MODE_DEC
} ptx_variant;

typedef enum ptx_compare {
    PTX_EQ,
    PTX_NE,
    PTX_LT,
    PTX_LE,
    PTX_GT,
    PTX_GE,
    PTX_EQU,
    PTX_NEU,
    PTX_LTU,
    PTX_LEU,
    PTX_GTU,
    PTX_GEU,
    PTX_NUM,
    PTX_IS_NAN
} ptx_compare;

#endif
