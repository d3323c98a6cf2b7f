/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_EXPERIMENTAL_XRT_DEVICE_H
#define TOMBOLO_XRT_XRT_EXPERIMENTAL_XRT_DEVICE_H
#include "xrt/xrt_device.h"
#endif
