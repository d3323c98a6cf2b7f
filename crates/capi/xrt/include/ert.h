/* The same by another path. */
#ifndef TOMBOLO_XRT_ROOT_ERT_H
#define TOMBOLO_XRT_ROOT_ERT_H
#include "xrt/detail/ert.h"
#endif
