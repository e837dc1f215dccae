/* The instructions that the interpreter knows, by the first part of their names. */
#ifndef PTX_OPERATIONS_H
#define PTX_OPERATIONS_H

#define PTX_OPERATIONS(X)                                                                          \
    X(abs)                                                                                         \
    X(activemask)                                                                                  \
    X(add) X(addc) X(and) X(atom) X(bar) X(barrier) X(bfe) X(bfi) X(bfind) X(bmsk) X(bra) X(brev)  \
        X(brx) X(call) X(clz) X(copysign) X(cos) X(cp) X(cvt) X(cvta) X(discard) X(div) X(dp4a)    \
            X(elect) X(ex2) X(exit) X(fence) X(fma) X(isspacep) X(ld) X(ldmatrix) X(ldu) X(lg2)    \
                X(lop3) X(mad) X(max) X(membar) X(min) X(mma) X(mov) X(movmatrix) X(mul) X(mul24)  \
                    X(nanosleep) X(neg) X(not ) X(or) X(popc) X(prefetch) X(prmt) X(rcp) X(red)    \
                        X(redux) X(rem) X(ret) X(rsqrt) X(sad) X(selp) X(set) X(setmaxnreg)        \
                            X(setp) X(shf) X(shfl) X(shl) X(shr) X(sin) X(slct) X(sqrt) X(st)      \
                                X(stmatrix) X(sub) X(subc) X(szext) X(tanh) X(testp) X(trap)       \
                                    X(vote) X(wgmma) X(xor)

#define PTX_ENUM(name) PTX_OP_##name,
typedef enum ptx_op { PTX_OPERATIONS(PTX_ENUM) PTX_OP_COUNT } ptx_op;

/* What cp, cp.async and wgmma do is in a further part of their names. */
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
