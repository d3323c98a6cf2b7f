/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_UUID_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_UUID_H
#include "xrt/xrt_uuid.h"
#endif
