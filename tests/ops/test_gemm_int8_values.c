#include "int8_case.h"
int main(void) { return 0; }
