/* xrt::mailbox: refused, with the reason. */
#ifndef TOMBOLO_XRT_MAILBOX_H
#define TOMBOLO_XRT_MAILBOX_H

#ifdef __cplusplus

#include <cstddef>
#include <string>
#include <utility>

#include "xrt/xrt_kernel.h"

namespace xrt {

class mailbox {
  public:
    explicit mailbox(const run &) {
        detail::unsupported("mailbox", "kernels that restart themselves are not offered; start a run each time");
    }
    void read() {}
    void write() {}
    template <typename Value> void set_arg(int, Value &&) {}
    template <typename Value> void set_arg(const std::string &, Value &&) {}
    std::pair<const void *, std::size_t> get_arg(int) const { return {nullptr, 0}; }
    std::pair<const void *, std::size_t> get_arg(const std::string &) const { return {nullptr, 0}; }
};

} // namespace xrt

#endif
#endif
