/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_XRT_INI_H
#define TOMBOLO_XRT_XRT_XRT_INI_H
#include "xrt/experimental/xrt_ini.h"
#endif
