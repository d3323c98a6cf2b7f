/* Checks for tests of vfpio.h. A failure prints the line, the condition and the last error. */
#include <vfpio_ext.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, vfpio_error());             \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)
