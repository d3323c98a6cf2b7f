/* Buffers, for C. Calls answer 0, a handle or a value; -1, null or 0 and errno if they fail. */
#ifndef TOMBOLO_XRT_DETAIL_C_BO_H
#define TOMBOLO_XRT_DETAIL_C_BO_H

#include "xrt/detail/c_device.h"

typedef void *xrtBufferHandle;
typedef uint64_t xrtBufferFlags;
typedef uint32_t xrtMemoryGroup;

enum {
    XRT_BO_FLAGS_NONE = 0,
    XRT_BO_FLAGS_CACHEABLE = 1 << 24,
    XRT_BO_FLAGS_SVM = 1 << 27,
    XRT_BO_FLAGS_DEV_ONLY = 1 << 28,
    XRT_BO_FLAGS_HOST_ONLY = 1 << 29,
    XRT_BO_FLAGS_P2P = 1 << 30
};

static inline xrtBufferHandle xrtBOAlloc(xrtDeviceHandle device, size_t bytes, xrtBufferFlags flags,
                                         xrtMemoryGroup group) {
    tmb_xrt_object *bo = NULL;
    return tmb_xrt_c_made(tmb_xrt_bo_alloc((tmb_xrt_object *)device, bytes, (uint32_t)flags, group, &bo), &bo);
}

static inline xrtBufferHandle xrtBOAllocUserPtr(xrtDeviceHandle device, void *pointer, size_t bytes,
                                                xrtBufferFlags flags, xrtMemoryGroup group) {
    tmb_xrt_object *bo = NULL;
    int answer = tmb_xrt_bo_over((tmb_xrt_object *)device, pointer, bytes, (uint32_t)flags, group, &bo);
    return tmb_xrt_c_made(answer, &bo);
}

static inline xrtBufferHandle xrtBOSubAlloc(xrtBufferHandle parent, size_t bytes, size_t offset) {
    tmb_xrt_object *bo = NULL;
    return tmb_xrt_c_made(tmb_xrt_bo_part((tmb_xrt_object *)parent, bytes, offset, &bo), &bo);
}

/* For another device of this process; the caller closes the handle. */
static inline xclBufferExportHandle xrtBOExport(xrtBufferHandle bo) {
    int exported = -1;
    tmb_xrt_c_answer(tmb_xrt_bo_export((tmb_xrt_object *)bo, &exported));
    return exported;
}

static inline xrtBufferHandle xrtBOImport(xrtDeviceHandle device, xclBufferExportHandle exported) {
    tmb_xrt_object *bo = NULL;
    (void)device;
    return tmb_xrt_c_made(tmb_xrt_bo_import(exported, &bo), &bo);
}

static inline int xrtBOFree(xrtBufferHandle bo) { return tmb_xrt_c_answer(tmb_xrt_close((tmb_xrt_object *)bo)); }

static inline size_t xrtBOSize(xrtBufferHandle bo) {
    size_t bytes = 0;
    tmb_xrt_c_answer(tmb_xrt_bo_size((tmb_xrt_object *)bo, &bytes));
    return bytes;
}

static inline uint64_t xrtBOAddress(xrtBufferHandle bo) {
    uint64_t address = 0;
    return tmb_xrt_c_answer(tmb_xrt_bo_address((tmb_xrt_object *)bo, &address)) == 0 ? address : UINT64_MAX;
}

static inline int xrtBOSync(xrtBufferHandle bo, enum xclBOSyncDirection direction, size_t bytes, size_t offset) {
    return tmb_xrt_c_answer(tmb_xrt_bo_sync((tmb_xrt_object *)bo, (uint32_t)direction, bytes, offset));
}

static inline void *xrtBOMap(xrtBufferHandle bo) {
    void *pointer = NULL;
    return tmb_xrt_c_answer(tmb_xrt_bo_map((tmb_xrt_object *)bo, &pointer)) == 0 ? pointer : NULL;
}

static inline int xrtBOWrite(xrtBufferHandle bo, const void *source, size_t bytes, size_t seek) {
    return tmb_xrt_c_answer(tmb_xrt_bo_write((tmb_xrt_object *)bo, source, bytes, seek));
}

static inline int xrtBORead(xrtBufferHandle bo, void *target, size_t bytes, size_t skip) {
    return tmb_xrt_c_answer(tmb_xrt_bo_read((tmb_xrt_object *)bo, target, bytes, skip));
}

/* On the card. */
static inline int xrtBOCopy(xrtBufferHandle target, xrtBufferHandle source, size_t bytes, size_t target_offset,
                            size_t source_offset) {
    return tmb_xrt_c_answer(tmb_xrt_bo_copy((tmb_xrt_object *)target, (tmb_xrt_object *)source, bytes,
                                            source_offset, target_offset));
}

#endif
