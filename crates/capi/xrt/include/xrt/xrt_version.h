/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_XRT_VERSION_H
#define TOMBOLO_XRT_XRT_XRT_VERSION_H
#include "xrt/experimental/xrt_version.h"
#endif
