/* xrt::ip */
#ifndef TOMBOLO_XRT_IP_H
#define TOMBOLO_XRT_IP_H

#include "xrt/xrt_device.h"
#include "xrt/xrt_hw_context.h"
#include "xrt/xrt_uuid.h"

#ifdef __cplusplus

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace xrt {

/* A compute unit that the program drives by its registers, alone. Copies are the same one. */
class ip {
  public:
    /* Interrupts of the kernel: those at the end of its runs, or, of a kernel whose registers only the program knows, what
     * the program has enabled there. Copies are the same one. */
    class interrupt {
      public:
        interrupt() = default;

        void enable() { set("enable", true); }
        void disable() { set("disable", false); }

        void wait() {
            if (!state("wait")) {
                throw std::system_error(EINVAL, std::generic_category(),
                                        "ip.interrupt: wait: it is disabled, so none comes; call enable first");
            }
            came(0);
        }

        /* Milliseconds of virtual time. */
        std::cv_status wait(const std::chrono::milliseconds &time) const {
            const bool there = state("wait") && came(static_cast<std::uint64_t>(std::max<long long>(time.count(), 1)));
            return there ? std::cv_status::no_timeout : std::cv_status::timeout;
        }

        explicit operator bool() const { return static_cast<bool>(object_); }

      private:
        friend class ip;

        interrupt(detail::object of, bool ends_runs)
            : object_(std::move(of)), enabled_(std::make_shared<bool>(true)), ends_runs_(ends_runs) {
            enable();
        }

        void set(const char *call, bool on) {
            state(call) = on;
            if (ends_runs_) {
                // All of the kernel's, and of these the one at the end of a run.
                detail::check(tmb_xrt_ip_write_register(object_.need(call), 4, on ? 1 : 0));
                detail::check(tmb_xrt_ip_write_register(object_.need(call), 8, on ? 1 : 0));
            }
        }

        bool &state(const char *call) const {
            object_.need(call);
            return *enabled_;
        }

        bool came(std::uint64_t milliseconds) const {
            int there = 0;
            detail::check(tmb_xrt_ip_wait_interrupt(object_.need("ip.interrupt"), milliseconds, &there));
            return there != 0;
        }

        detail::object object_;
        std::shared_ptr<bool> enabled_;
        bool ends_runs_ = false;
    };

    ip() = default;

    /* name: "kernel" if it has one unit, "kernel:{unit}" or "kernel:unit". */
    ip(const device &on, const uuid &of, const std::string &name) {
        tmb_xrt_object *opened = nullptr;
        detail::check(tmb_xrt_ip_open(on.handle(), of.get(), name.c_str(), &opened));
        object_ = detail::object(opened);
        const auto control = xclbin::of_device(on.handle()).get_ip(name).get_control_type();
        has_start_ = control != xclbin::ip::control_type::none;
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
        detail::check(tmb_xrt_ip_require_interrupt(object_.need("ip")));
        return interrupt(object_, has_start_);
    }

    explicit operator bool() const { return static_cast<bool>(object_); }

  private:
    detail::object object_;
    bool has_start_ = false;
};

} // namespace xrt

#endif
#endif
