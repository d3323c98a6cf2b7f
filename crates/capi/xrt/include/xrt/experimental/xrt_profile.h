/* xrt::profile: marks of the user, which the timeline of the card does not have; accepted. */
#ifndef TOMBOLO_XRT_PROFILE_H
#define TOMBOLO_XRT_PROFILE_H

#ifdef __cplusplus

#include <chrono>
#include <string>

namespace xrt {
namespace profile {

class user_range {
  public:
    user_range() = default;
    explicit user_range(const char *, const char * = nullptr) {}
    void start(const char *, const char * = nullptr) {}
    void end() {}
};

class user_event {
  public:
    void mark(const char * = nullptr) {}
    void mark_time_ns(const std::chrono::nanoseconds &, const char * = nullptr) {}
};

} // namespace profile
} // namespace xrt

#endif
#endif
