/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_XRT_XCLBIN_H
#define TOMBOLO_XRT_XRT_XRT_XCLBIN_H
#include "xrt/experimental/xrt_xclbin.h"
#endif
