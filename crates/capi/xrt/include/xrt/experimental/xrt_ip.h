/* xrt::ip */
#ifndef TOMBOLO_XRT_IP_H
#define TOMBOLO_XRT_IP_H

#include "xrt/xrt_device.h"
#include "xrt/xrt_hw_context.h"
#include "xrt/xrt_uuid.h"

#ifdef __cplusplus

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <string>

namespace xrt {

/* A compute unit that the program drives by its registers, alone. Copies are the same one. */
class ip {
  public:
    class interrupt {
      public:
        void enable() {}
        void disable() {}
        void wait() {}
        std::cv_status wait(const std::chrono::milliseconds &) const { return std::cv_status::timeout; }
    };

    ip() = default;

    /* name: "kernel" if it has one unit, "kernel:{unit}" or "kernel:unit". */
    ip(const device &on, const uuid &of, const std::string &name) {
        tmb_xrt_object *opened = nullptr;
        detail::check(tmb_xrt_ip_open(on.handle(), of.get(), name.c_str(), &opened));
        object_ = detail::object(opened);
    }

    ip(const hw_context &in, const std::string &name) : ip(in.get_device(), in.get_xclbin_uuid(), name) {}

    void write_register(std::uint32_t offset, std::uint32_t value) {
        detail::check(tmb_xrt_ip_write_register(object_.need("ip"), offset, value));
    }

    std::uint32_t read_register(std::uint32_t offset) const {
        std::uint32_t value = 0;
        detail::check(tmb_xrt_ip_read_register(object_.need("ip"), offset, &value));
        return value;
    }

    interrupt create_interrupt_notify() {
        detail::unsupported("ip.create_interrupt_notify", "read a status register of the kernel in a loop instead");
    }

    explicit operator bool() const { return static_cast<bool>(object_); }

  private:
    detail::object object_;
};

} // namespace xrt

#endif
#endif
