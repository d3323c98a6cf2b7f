/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_MESSAGE_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_MESSAGE_H
#include "xrt/experimental/xrt_message.h"
#endif
