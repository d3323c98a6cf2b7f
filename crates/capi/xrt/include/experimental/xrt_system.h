/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_SYSTEM_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_SYSTEM_H
#include "xrt/experimental/xrt_system.h"
#endif
