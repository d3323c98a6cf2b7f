/* Kernels and runs, for C. Calls answer 0, a handle or a value; -1, null or 0 and errno if they fail. */
#ifndef TOMBOLO_XRT_DETAIL_C_KERNEL_H
#define TOMBOLO_XRT_DETAIL_C_KERNEL_H

#include <stdarg.h>
#include <stdlib.h>

#include "xrt/detail/c_bo.h"
#include "xrt/detail/ert.h"
#include "xrt/detail/watch.h"

typedef void *xrtKernelHandle;
typedef void *xrtRunHandle;

/* Target of a run's handle. */
struct tmb_xrt_c_run {
    tmb_xrt_object *object;
    void (*callback)(xrtRunHandle, enum ert_cmd_state, void *);
    void *data;
    struct tmb_xrt_watch *watch;
};

/* access: 0 exclusive, 1 shared */
static inline xrtKernelHandle tmb_xrt_c_open(xrtDeviceHandle device, const xuid_t uuid, const char *name,
                                             uint32_t access) {
    tmb_xrt_object *kernel = NULL;
    return tmb_xrt_c_made(tmb_xrt_kernel_open((tmb_xrt_object *)device, uuid, name, access, &kernel), &kernel);
}

static inline xrtKernelHandle xrtPLKernelOpen(xrtDeviceHandle device, const xuid_t uuid, const char *name) {
    return tmb_xrt_c_open(device, uuid, name, 1);
}

static inline xrtKernelHandle xrtPLKernelOpenExclusive(xrtDeviceHandle device, const xuid_t uuid, const char *name) {
    return tmb_xrt_c_open(device, uuid, name, 0);
}

static inline int xrtKernelClose(xrtKernelHandle kernel) {
    return tmb_xrt_c_answer(tmb_xrt_close((tmb_xrt_object *)kernel));
}

static inline int xrtKernelArgGroupId(xrtKernelHandle kernel, int index) {
    int group = -1;
    tmb_xrt_c_answer(tmb_xrt_kernel_group((tmb_xrt_object *)kernel, (uint32_t)index, &group));
    return group;
}

static inline uint32_t xrtKernelArgOffset(xrtKernelHandle kernel, int index) {
    uint32_t offset = UINT32_MAX;
    tmb_xrt_c_answer(tmb_xrt_kernel_offset((tmb_xrt_object *)kernel, (uint32_t)index, &offset));
    return offset;
}

static inline int xrtKernelReadRegister(xrtKernelHandle kernel, uint32_t offset, uint32_t *value) {
    return tmb_xrt_c_answer(tmb_xrt_kernel_read_register((tmb_xrt_object *)kernel, offset, value));
}

static inline int xrtKernelWriteRegister(xrtKernelHandle kernel, uint32_t offset, uint32_t value) {
    return tmb_xrt_c_answer(tmb_xrt_kernel_write_register((tmb_xrt_object *)kernel, offset, value));
}

static inline xrtRunHandle xrtRunOpen(xrtKernelHandle kernel) {
    tmb_xrt_object *object = NULL;
    struct tmb_xrt_c_run *run = NULL;
    if (tmb_xrt_c_answer(tmb_xrt_run_create((tmb_xrt_object *)kernel, &object)) != 0) {
        return XRT_NULL_HANDLE;
    }
    run = (struct tmb_xrt_c_run *)calloc(1, sizeof *run);
    if (run == NULL) {
        tmb_xrt_close(object);
        return XRT_NULL_HANDLE;
    }
    run->object = object;
    return run;
}

static inline tmb_xrt_object *tmb_xrt_c_object(xrtRunHandle run) {
    return run == NULL ? NULL : ((struct tmb_xrt_c_run *)run)->object;
}

/* The next of the arguments as C passes them on: a buffer's handle; a float as a double; a number. */
static inline int tmb_xrt_c_set(xrtRunHandle run, uint32_t index, va_list *list) {
    tmb_xrt_object *object = tmb_xrt_c_object(run);
    tmb_xrt_argument what;
    int answer = tmb_xrt_c_answer(tmb_xrt_run_argument(object, index, &what));
    if (answer != 0) {
        return answer;
    }
    if (what.kind == 1) {
        xrtBufferHandle bo = va_arg(*list, xrtBufferHandle);
        return tmb_xrt_c_answer(tmb_xrt_run_set_bo(object, index, (tmb_xrt_object *)bo));
    }
    if (what.kind == 4) {
        (void)va_arg(*list, void *);
        return 0;
    }
    if (what.is_real && what.bytes == 4) {
        float value = (float)va_arg(*list, double);
        return tmb_xrt_c_answer(tmb_xrt_run_set_value(object, index, &value, sizeof value));
    }
    if (what.is_real) {
        double value = va_arg(*list, double);
        return tmb_xrt_c_answer(tmb_xrt_run_set_value(object, index, &value, sizeof value));
    }
    if (what.bytes <= 4) {
        int value = va_arg(*list, int);
        return tmb_xrt_c_answer(tmb_xrt_run_set_value(object, index, &value, sizeof value));
    }
    if (what.bytes == 8) {
        uint64_t value = va_arg(*list, uint64_t);
        return tmb_xrt_c_answer(tmb_xrt_run_set_value(object, index, &value, sizeof value));
    }
    fprintf(stderr, "[XRT] ERROR: argument %u has %u bytes: C passes on no such number; use C++\n", index, what.bytes);
    errno = EINVAL;
    return -1;
}

static inline int xrtRunSetArg(xrtRunHandle run, int index, ...) {
    va_list list;
    int answer = 0;
    va_start(list, index);
    answer = tmb_xrt_c_set(run, (uint32_t)index, &list);
    va_end(list);
    return answer;
}

static inline void tmb_xrt_c_ended(void *pointer, enum ert_cmd_state state) {
    struct tmb_xrt_c_run *run = (struct tmb_xrt_c_run *)pointer;
    run->callback(run, state, run->data);
}

static inline int xrtRunStart(xrtRunHandle handle) {
    struct tmb_xrt_c_run *run = (struct tmb_xrt_c_run *)handle;
    int answer = tmb_xrt_c_answer(tmb_xrt_run_start(tmb_xrt_c_object(handle)));
    if (answer == 0 && run->watch != NULL) {
        tmb_xrt_watch_started(run->watch);
    }
    return answer;
}

/* Milliseconds of virtual time; 0: for ever. */
static inline enum ert_cmd_state xrtRunWaitFor(xrtRunHandle run, unsigned int milliseconds) {
    uint32_t state = ERT_CMD_STATE_ERROR;
    tmb_xrt_c_answer(tmb_xrt_run_wait(tmb_xrt_c_object(run), milliseconds, &state));
    return (enum ert_cmd_state)state;
}

static inline enum ert_cmd_state xrtRunWait(xrtRunHandle run) { return xrtRunWaitFor(run, 0); }

static inline enum ert_cmd_state xrtRunState(xrtRunHandle run) {
    uint32_t state = ERT_CMD_STATE_ERROR;
    tmb_xrt_c_answer(tmb_xrt_run_state(tmb_xrt_c_object(run), &state));
    return (enum ert_cmd_state)state;
}

/* Before the start; called in a thread of its own when the run has ended. */
static inline int xrtRunSetCallback(xrtRunHandle handle, enum ert_cmd_state state,
                                    void (*callback)(xrtRunHandle, enum ert_cmd_state, void *), void *data) {
    struct tmb_xrt_c_run *run = (struct tmb_xrt_c_run *)handle;
    if (run == NULL || state != ERT_CMD_STATE_COMPLETED) {
        errno = EINVAL;
        return -1;
    }
    run->callback = callback;
    run->data = data;
    if (run->watch == NULL) {
        run->watch = tmb_xrt_watch_open(run->object, tmb_xrt_c_ended, run);
    }
    return run->watch == NULL ? -1 : 0;
}

static inline int xrtRunClose(xrtRunHandle handle) {
    struct tmb_xrt_c_run *run = (struct tmb_xrt_c_run *)handle;
    int answer = 0;
    if (run == NULL) {
        errno = EINVAL;
        return -1;
    }
    if (run->watch != NULL) {
        tmb_xrt_watch_close(run->watch);
    }
    answer = tmb_xrt_c_answer(tmb_xrt_close(run->object));
    free(run);
    return answer;
}

/* Sets all arguments, and starts. */
static inline xrtRunHandle xrtKernelRun(xrtKernelHandle kernel, ...) {
    xrtRunHandle run = xrtRunOpen(kernel);
    uint32_t count = 0;
    uint32_t index = 0;
    int answer = 0;
    va_list list;
    if (run == NULL) {
        return XRT_NULL_HANDLE;
    }
    answer = tmb_xrt_c_answer(tmb_xrt_run_argument_count(tmb_xrt_c_object(run), &count));
    va_start(list, kernel);
    while (answer == 0 && index < count) {
        answer = tmb_xrt_c_set(run, index, &list);
        ++index;
    }
    va_end(list);
    if (answer == 0 && xrtRunStart(run) == 0) {
        return run;
    }
    xrtRunClose(run);
    return XRT_NULL_HANDLE;
}

#endif
