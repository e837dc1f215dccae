#include "special.h"

#include <string.h>

int special_named(const char *name, int length)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"%tid.", SPECIAL_TID},
                 {"%ntid.", SPECIAL_NTID},
                 {"%ctaid.", SPECIAL_CTAID},
                 {"%nctaid.", SPECIAL_NCTAID},
                 {"%laneid", SPECIAL_LANEID},
                 {"%warpid", SPECIAL_WARPID},
                 {"%nwarpid", SPECIAL_NWARPID},
                 {"%lanemask_eq", SPECIAL_LANEMASK_EQ},
                 {"%lanemask_lt", SPECIAL_LANEMASK_LT},
                 {"%lanemask_le", SPECIAL_LANEMASK_LE},
                 {"%lanemask_gt", SPECIAL_LANEMASK_GT},
                 {"%lanemask_ge", SPECIAL_LANEMASK_GE},
                 {"%clock", SPECIAL_CLOCK},
                 {"%clock64", SPECIAL_CLOCK}};
    if (length > 7 && strncmp(name, "%envreg", 7) == 0)
        return SPECIAL_ENVREG;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        const int known = (int)strlen(names[i].name);
        if (strncmp(name, names[i].name, (size_t)(known < length ? known : length)) != 0)
            continue;
        if (names[i].number <= SPECIAL_NCTAID && length == known + 1 && name[known] >= 'x' &&
            name[known] <= 'z')
            return names[i].number + name[known] - 'x';
        if (names[i].number > SPECIAL_NCTAID && length == known)
            return names[i].number;
    }
    return -1;
}
