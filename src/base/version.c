#include <tenon/version.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

TENON_API const char *tenon_version_string(void)
{
    return TEXT(TENON_VERSION_MAJOR) "." TEXT(TENON_VERSION_MINOR) "." TEXT(TENON_VERSION_PATCH);
}

TENON_API uint32_t tenon_version_number(void)
{
    return TENON_VERSION_NUMBER;
}
