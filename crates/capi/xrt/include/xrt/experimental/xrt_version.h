/* xrt::version: the release of XRT whose documentation these headers follow. */
#ifndef TOMBOLO_XRT_VERSION_H
#define TOMBOLO_XRT_VERSION_H

#include "xrt/detail/version.h"

#ifdef __cplusplus

namespace xrt {
namespace version {

inline unsigned int major() { return XRT_MAJOR(XRT_VERSION_CODE); }
inline unsigned int minor() { return XRT_MINOR(XRT_VERSION_CODE); }
inline unsigned int patch() { return XRT_PATCH; }
inline unsigned int code() { return XRT_VERSION_CODE; }

} // namespace version
} // namespace xrt

#endif
#endif
