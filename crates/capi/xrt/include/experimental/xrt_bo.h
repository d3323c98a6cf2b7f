/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_BO_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_BO_H
#include "xrt/xrt_bo.h"
#endif
