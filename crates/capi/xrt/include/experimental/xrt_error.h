/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_ERROR_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_ERROR_H
#include "xrt/experimental/xrt_error.h"
#endif
