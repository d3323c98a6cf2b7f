/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_EXPERIMENTAL_XRT_KERNEL_H
#define TOMBOLO_XRT_XRT_EXPERIMENTAL_XRT_KERNEL_H
#include "xrt/xrt_kernel.h"
#endif
