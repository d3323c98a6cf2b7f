/* xrt::system */
#ifndef TOMBOLO_XRT_SYSTEM_H
#define TOMBOLO_XRT_SYSTEM_H

#ifdef __cplusplus

#include "xrt/detail/base.h"

namespace xrt {
namespace system {

inline unsigned int enumerate_devices() { return tmb_xrt_device_count(); }

} // namespace system
} // namespace xrt

#endif
#endif
