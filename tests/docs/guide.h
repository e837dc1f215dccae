/* Declarations for the code blocks of docs/guide.md. */
#include <stdio.h>
#include <tenon/tenon.h>
