/* Special registers such as %tid.x. */
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
    SPECIAL_ENVREG, /* all are 0, since launches have no offset */
    SPECIAL_CLOCK
} ptx_special;

/* Returns the number of a special register, or -1 if the name is unknown. */
int special_named(const char *name, int length);

#endif
