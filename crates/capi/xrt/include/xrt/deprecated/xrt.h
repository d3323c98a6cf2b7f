/* The same by another path. */
#ifndef TOMBOLO_XRT_DEPRECATED_XRT_H
#define TOMBOLO_XRT_DEPRECATED_XRT_H
#include "xrt/xrt.h"
#endif
