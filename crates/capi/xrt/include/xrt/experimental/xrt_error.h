/* xrt::error: asynchronous errors, of which this card has none: a run's errors are its own. */
#ifndef TOMBOLO_XRT_ERROR_H
#define TOMBOLO_XRT_ERROR_H

#include <stdint.h>

#define XRT_ERROR_CLASS_SYSTEM 1
#define XRT_ERROR_CLASS_AIE 2
#define XRT_ERROR_CLASS_HARDWARE 3

typedef uint64_t xrtErrorCode;
typedef uint32_t xrtErrorClass;

#ifdef __cplusplus

#include <string>

#include "xrt/xrt_device.h"

namespace xrt {

class error {
  public:
    error(const device &, xrtErrorClass) {}
    error(xrtErrorCode code, std::uint64_t time) : code_(code), time_(time) {}
    xrtErrorCode get_error_code() const { return code_; }
    std::uint64_t get_timestamp() const { return time_; }
    std::string to_string() const { return code_ == 0 ? "no error" : "error " + std::to_string(code_); }

  private:
    xrtErrorCode code_ = 0;
    std::uint64_t time_ = 0;
};

} // namespace xrt

#endif
#endif
