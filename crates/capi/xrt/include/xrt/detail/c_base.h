/* Below XRT's interface for C: how a failure is reported. Not for programs. */
#ifndef TOMBOLO_XRT_DETAIL_C_BASE_H
#define TOMBOLO_XRT_DETAIL_C_BASE_H

#include <errno.h>
#include <stdio.h>

#include "tombolo_xrt.h"

#ifndef XRT_NULL_HANDLE
#define XRT_NULL_HANDLE NULL
#endif

/* 0, or -1 with errno and a line on standard error. */
static inline int tmb_xrt_c_answer(int answer) {
    if (answer == 0) {
        return 0;
    }
    fprintf(stderr, "[XRT] ERROR: %s\n", tmb_last_error());
    errno = answer > 0 ? answer : EINVAL;
    return -1;
}

/* A handle that a call has made, or null. */
static inline void *tmb_xrt_c_made(int answer, tmb_xrt_object *const *made) {
    return tmb_xrt_c_answer(answer) == 0 ? (void *)*made : XRT_NULL_HANDLE;
}

#endif
