/* Devices and xclbins, for C. Calls answer 0, a handle or a value; -1, null or 0 and errno if they fail. */
#ifndef TOMBOLO_XRT_DETAIL_C_DEVICE_H
#define TOMBOLO_XRT_DETAIL_C_DEVICE_H

#include <string.h>

#include "xrt/detail/c_base.h"
#include "xrt/xrt.h"

typedef void *xrtDeviceHandle;
typedef void *xrtXclbinHandle;

static inline xrtDeviceHandle xrtDeviceOpen(unsigned int index) {
    tmb_xrt_object *device = NULL;
    return tmb_xrt_c_made(tmb_xrt_device_open(index, &device), &device);
}

static inline xrtDeviceHandle xrtDeviceOpenByBDF(const char *bdf) {
    tmb_xrt_object *device = NULL;
    return tmb_xrt_c_made(tmb_xrt_device_open_named(bdf, &device), &device);
}

static inline int xrtDeviceClose(xrtDeviceHandle device) {
    return tmb_xrt_c_answer(tmb_xrt_close((tmb_xrt_object *)device));
}

static inline int xrtDeviceLoadXclbinHandle(xrtDeviceHandle device, xrtXclbinHandle xclbin) {
    xuid_t uuid;
    return tmb_xrt_c_answer(
        tmb_xrt_device_load_xclbin((tmb_xrt_object *)device, (tmb_xrt_object *)xclbin, uuid));
}

static inline int xrtDeviceLoadXclbinFile(xrtDeviceHandle device, const char *path) {
    xuid_t uuid;
    return tmb_xrt_c_answer(tmb_xrt_device_load_file((tmb_xrt_object *)device, path, uuid));
}

static inline int xrtDeviceLoadXclbin(xrtDeviceHandle device, const struct axlf *bytes) {
    tmb_xrt_object *xclbin = NULL;
    int answer = tmb_xrt_c_answer(tmb_xrt_xclbin_parse_axlf(bytes, &xclbin));
    if (answer == 0) {
        answer = xrtDeviceLoadXclbinHandle(device, xclbin);
        tmb_xrt_close(xclbin);
    }
    return answer;
}

static inline int xrtDeviceGetXclbinUUID(xrtDeviceHandle device, xuid_t uuid) {
    return tmb_xrt_c_answer(tmb_xrt_device_uuid((tmb_xrt_object *)device, uuid));
}

static inline xrtXclbinHandle xrtXclbinAllocFilename(const char *path) {
    tmb_xrt_object *xclbin = NULL;
    return tmb_xrt_c_made(tmb_xrt_xclbin_open(path, &xclbin), &xclbin);
}

static inline xrtXclbinHandle xrtXclbinAllocRawData(const char *bytes, int count) {
    tmb_xrt_object *xclbin = NULL;
    return tmb_xrt_c_made(tmb_xrt_xclbin_parse(bytes, count < 0 ? 0 : (size_t)count, &xclbin), &xclbin);
}

static inline xrtXclbinHandle xrtXclbinAllocAxlf(const struct axlf *bytes) {
    tmb_xrt_object *xclbin = NULL;
    return tmb_xrt_c_made(tmb_xrt_xclbin_parse_axlf(bytes, &xclbin), &xclbin);
}

/* The file's bytes, as far as there is room; `needed`: all of them. */
static inline int xrtXclbinGetData(xrtXclbinHandle xclbin, char *bytes, int room, int *needed) {
    size_t count = room < 0 ? 0 : (size_t)room;
    int answer = tmb_xrt_c_answer(tmb_xrt_xclbin_bytes((tmb_xrt_object *)xclbin, bytes, &count));
    if (needed != NULL) {
        *needed = (int)count;
    }
    return answer;
}

static inline int xrtXclbinFreeHandle(xrtXclbinHandle xclbin) {
    return tmb_xrt_c_answer(tmb_xrt_close((tmb_xrt_object *)xclbin));
}

static inline int xrtXclbinGetUUID(xrtXclbinHandle xclbin, xuid_t uuid) {
    return tmb_xrt_c_answer(tmb_xrt_xclbin_uuid((tmb_xrt_object *)xclbin, uuid));
}

/* The name of the platform, with its null, as far as there is room; `needed`: all of it. */
static inline int xrtXclbinGetXSAName(xrtXclbinHandle xclbin, char *name, int room, int *needed) {
    char *text = NULL;
    int answer = tmb_xrt_xclbin_text((tmb_xrt_object *)xclbin, TMB_XRT_PLATFORM, 0, 0, &text);
    if (answer != 0) {
        return tmb_xrt_c_answer(answer);
    }
    if (name != NULL && room > 0) {
        strncpy(name, text, (size_t)room - 1);
        name[room - 1] = 0;
    }
    if (needed != NULL) {
        *needed = (int)strlen(text) + 1;
    }
    tmb_text_free(text);
    return 0;
}

static inline size_t tmb_xrt_c_count(xrtXclbinHandle xclbin, uint32_t list) {
    uint32_t count = 0;
    tmb_xrt_c_answer(tmb_xrt_xclbin_count((tmb_xrt_object *)xclbin, list, 0, &count));
    return count;
}

static inline size_t xrtXclbinGetNumKernels(xrtXclbinHandle xclbin) { return tmb_xrt_c_count(xclbin, TMB_XRT_KERNELS); }

static inline size_t xrtXclbinGetNumKernelComputeUnits(xrtXclbinHandle xclbin) {
    return tmb_xrt_c_count(xclbin, TMB_XRT_UNITS);
}

#endif
