/* What the blocks of docs/guide.md take for given. */
#include <stdio.h>
#include <tenon/tenon.h>
