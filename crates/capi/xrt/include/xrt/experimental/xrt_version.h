/* xrt::version: the release of XRT whose documentation these headers follow. */
#ifndef TOMBOLO_XRT_VERSION_H
#define TOMBOLO_XRT_VERSION_H

#ifdef __cplusplus

namespace xrt {
namespace version {

inline unsigned int major() { return 2; }
inline unsigned int minor() { return 18; }
inline unsigned int patch() { return 0; }
inline unsigned int code() { return major() << 16 | minor(); }

} // namespace version
} // namespace xrt

#endif
#endif
