/* xrt::device */
#ifndef TOMBOLO_XRT_DEVICE_H
#define TOMBOLO_XRT_DEVICE_H

#include "xrt/xrt.h"
#include "xrt/xrt_uuid.h"

#ifdef __cplusplus

#include <string>
#include <type_traits>

#include "xrt/detail/base.h"
#include "xrt/experimental/xrt_xclbin.h"

namespace xrt {

namespace info {

enum class device : unsigned int {
    bdf = 0,
    interface_uuid,
    kdma,
    max_clock_frequency_mhz,
    m2m,
    name,
    nodma,
    offline,
    electrical,
    thermal,
    mechanical,
    memory,
    platform,
    pcie_info,
    host,
    aie,
    aie_shim,
    dynamic_regions,
    vmr,
    aie_mem
};

/* The type of an answer. */
template <device what> struct answer {
    using type = std::string;
};
template <> struct answer<device::interface_uuid> {
    using type = xrt::uuid;
};
template <> struct answer<device::kdma> {
    using type = std::uint32_t;
};
template <> struct answer<device::max_clock_frequency_mhz> {
    using type = unsigned long;
};
template <> struct answer<device::m2m> {
    using type = bool;
};
template <> struct answer<device::nodma> {
    using type = bool;
};
template <> struct answer<device::offline> {
    using type = bool;
};

} // namespace info

namespace detail {

inline void convert(const std::string &text, std::string &value) { value = text; }
inline void convert(const std::string &text, xrt::uuid &value) { value = xrt::uuid(text); }
inline void convert(const std::string &text, bool &value) { value = text == "true"; }
inline void convert(const std::string &text, std::uint32_t &value) {
    value = static_cast<std::uint32_t>(std::stoul(text));
}
inline void convert(const std::string &text, unsigned long &value) { value = std::stoul(text); }

} // namespace detail

/* A device: a simulated card, which opens when an xclbin is loaded. Copies are the same one. */
class device {
  public:
    device() = default;

    explicit device(unsigned int index) {
        tmb_xrt_object *opened = nullptr;
        detail::check(tmb_xrt_device_open(index, &opened));
        object_ = detail::object(opened);
    }

    /* Any other whole number, as std::stoul gives it. */
    template <typename Index, typename = typename std::enable_if<std::is_integral<Index>::value>::type>
    explicit device(Index index) : device(static_cast<unsigned int>(index)) {}

    /* A PCIe address, or an index in digits. */
    explicit device(const std::string &name) {
        tmb_xrt_object *opened = nullptr;
        detail::check(tmb_xrt_device_open_named(name.c_str(), &opened));
        object_ = detail::object(opened);
    }

    explicit device(const char *name) : device(std::string(name)) {}

    uuid load_xclbin(const std::string &path) {
        uuid loaded;
        detail::check(tmb_xrt_device_load_file(handle(), xclbin::find(path).c_str(), loaded.data()));
        return loaded;
    }

    uuid load_xclbin(const xclbin &file) {
        uuid loaded;
        detail::check(tmb_xrt_device_load_xclbin(handle(), file.handle(), loaded.data()));
        return loaded;
    }

    uuid load_xclbin(const axlf *bytes) { return load_xclbin(xclbin(bytes)); }

    /* Here without a difference to load_xclbin. */
    uuid register_xclbin(const xclbin &file) { return load_xclbin(file); }

    uuid get_xclbin_uuid() const {
        uuid loaded;
        detail::check(tmb_xrt_device_uuid(handle(), loaded.data()));
        return loaded;
    }

    xclbin get_xclbin(const uuid &) const { return xclbin::of_device(handle()); }

    template <info::device what> typename info::answer<what>::type get_info() const {
        char *text = nullptr;
        detail::check(tmb_xrt_device_info(handle(), static_cast<unsigned int>(what), &text));
        typename info::answer<what>::type value;
        detail::convert(detail::take(text), value);
        return value;
    }

    template <typename Section> Section get_xclbin_section(axlf_section_kind kind, const uuid &of) const {
        return get_xclbin(of).get_axlf_section<Section>(kind);
    }

    void reset() { detail::check(tmb_xrt_device_reset(handle())); }

    bool operator==(const device &other) const {
        int same = 0;
        if (!object_ || !other.object_) {
            return !object_ && !other.object_;
        }
        detail::check(tmb_xrt_device_same(handle(), other.handle(), &same));
        return same != 0;
    }
    bool operator!=(const device &other) const { return !(*this == other); }

    explicit operator bool() const { return static_cast<bool>(object_); }

    /* The device as an untyped handle, for calls that take one; good while this or a copy of it is alive. */
    operator xclDeviceHandle() const { return handle(); }

    /* The device that an untyped handle names. */
    explicit device(xclDeviceHandle named) {
        tmb_xrt_object *same = nullptr;
        detail::check(tmb_xrt_device_again(static_cast<tmb_xrt_object *>(named), &same));
        object_ = detail::object(same);
    }

    /* For the other headers. */
    tmb_xrt_object *handle() const { return object_.need("device"); }

  private:
    detail::object object_;
};

} // namespace xrt

#endif

#include "xrt/detail/c_device.h"

#endif
