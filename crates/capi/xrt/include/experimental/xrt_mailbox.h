/* The same by another path. */
#ifndef TOMBOLO_XRT_EXPERIMENTAL_XRT_MAILBOX_H
#define TOMBOLO_XRT_EXPERIMENTAL_XRT_MAILBOX_H
#include "xrt/experimental/xrt_mailbox.h"
#endif
