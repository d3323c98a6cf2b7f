/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_IP_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_IP_H
#include "xrt/experimental/xrt_ip.h"
#endif
