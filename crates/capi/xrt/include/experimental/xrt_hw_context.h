/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_HW_CONTEXT_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_HW_CONTEXT_H
#include "xrt/xrt_hw_context.h"
#endif
