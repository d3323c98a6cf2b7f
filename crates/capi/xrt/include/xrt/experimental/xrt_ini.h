/* xrt::ini: keys of xrt.ini, which are accepted and change nothing. */
#ifndef TOMBOLO_XRT_INI_H
#define TOMBOLO_XRT_INI_H

#ifdef __cplusplus

#include <string>

namespace xrt {
namespace ini {

inline void set(const std::string &, const std::string &) {}
inline void set(const std::string &, unsigned int) {}

} // namespace ini
} // namespace xrt

#endif
#endif
