/* Special registers: %tid.x. */
#ifndef PTX_SPECIAL_H
#define PTX_SPECIAL_H

typedef enum ptx_special {
    SPECIAL_TID,
    SPECIAL_NTID = 3,
    SPECIAL_CTAID = 6,
    SPECIAL_NCTAID = 9,
    SPECIAL_LANEID = 12,
    SPECIAL_WARPID,
    SPECIAL_NWARPID,
    SPECIAL_LANEMASK_EQ,
    SPECIAL_LANEMASK_LT,
    SPECIAL_LANEMASK_LE,
    SPECIAL_LANEMASK_GT,
    SPECIAL_LANEMASK_GE,
    SPECIAL_ENVREG, /* 0, all of them: a launch has no offset */
    SPECIAL_CLOCK
} ptx_special;

/* The number of one; -1: there is none of that name. */
int special_named(const char *name, int length);

#endif
