/* Names that C and C++ programs of XRT share: directions, flags, states. */
#ifndef TOMBOLO_XRT_XRT_H
#define TOMBOLO_XRT_XRT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "xrt/detail/ert.h"
#include "xrt/detail/version.h"

#if defined(__has_include)
#if __has_include(<uuid/uuid.h>)
#include <uuid/uuid.h>
#define TMB_XRT_HAS_UUID 1
#endif
#endif
#ifndef TMB_XRT_HAS_UUID
/* As of libuuid, where it is not installed. */
typedef unsigned char uuid_t[16];
#endif

enum xclBOSyncDirection {
    XCL_BO_SYNC_BO_TO_DEVICE = 0,
    XCL_BO_SYNC_BO_FROM_DEVICE = 1,
    XCL_BO_SYNC_BO_GMIO_TO_AIE = 2,
    XCL_BO_SYNC_BO_AIE_TO_GMIO = 3
};

#ifndef XCL_BO_FLAGS_NONE
#define XCL_BO_FLAGS_NONE 0u
#define XCL_BO_FLAGS_CACHEABLE (1u << 24)
#define XCL_BO_FLAGS_KERNBUF (1u << 25)
#define XCL_BO_FLAGS_SVM (1u << 27)
#define XCL_BO_FLAGS_DEV_ONLY (1u << 28)
#define XCL_BO_FLAGS_HOST_ONLY (1u << 29)
#define XCL_BO_FLAGS_P2P (1u << 30)
#define XCL_BO_FLAGS_EXECBUF (1u << 31)
#endif

typedef void *xclDeviceHandle;
typedef int xclBufferExportHandle;
typedef unsigned char xuid_t[16];
/* The bytes of an .xclbin. */
struct axlf;

#endif
