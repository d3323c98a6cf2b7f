/* The same by another path. */
#ifndef TOMBOLO_XRT_XRT_XRT_PROFILE_H
#define TOMBOLO_XRT_XRT_XRT_PROFILE_H
#include "xrt/experimental/xrt_profile.h"
#endif
