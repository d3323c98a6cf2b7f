/* The same by another path. */
#ifndef TOMBOLO_XRT_ROOT_XCLBIN_H
#define TOMBOLO_XRT_ROOT_XCLBIN_H
#include "xrt/detail/xclbin.h"
#endif
