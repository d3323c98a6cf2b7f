/* xrt::hw_context: here a device and the xclbin that is loaded on it. */
#ifndef TOMBOLO_XRT_HW_CONTEXT_H
#define TOMBOLO_XRT_HW_CONTEXT_H

#include "xrt/xrt_device.h"

#ifdef __cplusplus

#include <cstdint>
#include <map>
#include <string>

namespace xrt {

class hw_context {
  public:
    enum class access_mode : std::uint8_t { exclusive = 0, shared = 1 };
    using cfg_param_type = std::map<std::string, std::uint32_t>;
    using qos_type = cfg_param_type;

    hw_context() = default;

    hw_context(const device &on, const uuid &of, access_mode mode = access_mode::shared)
        : device_(on), uuid_(of), mode_(mode) {
        if (on.get_xclbin_uuid() != of) {
            throw std::system_error(EINVAL, std::generic_category(),
                                    "hw_context: xclbin " + of.to_string() + " is not registered on the device");
        }
    }

    /* Quality of service is for NPUs: accepted, without effect. */
    hw_context(const device &on, const uuid &of, const cfg_param_type &) : hw_context(on, of) {}

    void update_qos(const qos_type &) {}
    device get_device() const { return device_; }
    uuid get_xclbin_uuid() const { return uuid_; }
    xclbin get_xclbin() const { return device_.get_xclbin(uuid_); }
    access_mode get_mode() const { return mode_; }
    explicit operator bool() const { return static_cast<bool>(device_); }

  private:
    device device_;
    uuid uuid_;
    access_mode mode_ = access_mode::shared;
};

} // namespace xrt

#endif
#endif
