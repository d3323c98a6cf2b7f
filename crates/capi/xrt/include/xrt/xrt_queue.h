/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_XRT_QUEUE_H
#define TOMBOLO_XRT_XRT_XRT_QUEUE_H
#include "xrt/experimental/xrt_queue.h"
#endif
