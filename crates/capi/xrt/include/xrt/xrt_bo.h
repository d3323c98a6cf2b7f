/* xrt::bo */
#ifndef TOMBOLO_XRT_BO_H
#define TOMBOLO_XRT_BO_H

#include "xrt/xrt.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_hw_context.h"

#ifdef __cplusplus

#include <cstdint>
#include <type_traits>

namespace xrt {

using memory_group = std::uint32_t;

namespace detail {
/* Numbers, and constants that are numbers by another type, as XRT_BO_FLAGS_HOST_ONLY. */
template <typename Type>
using number_like = typename std::enable_if<std::is_integral<Type>::value || std::is_enum<Type>::value>::type;
} // namespace detail

/* Memory of the card with a copy in the host: they differ until sync. Copies of the object are the same buffer. */
class bo {
  public:
    enum class flags : std::uint32_t {
        normal = XCL_BO_FLAGS_NONE,
        cacheable = XCL_BO_FLAGS_CACHEABLE,
        carveout = XCL_BO_FLAGS_KERNBUF,
        svm = XCL_BO_FLAGS_SVM,
        device_only = XCL_BO_FLAGS_DEV_ONLY,
        host_only = XCL_BO_FLAGS_HOST_ONLY,
        p2p = XCL_BO_FLAGS_P2P
    };

    /* A copy that is over when wait returns. */
    class async_handle {
      public:
        void wait() {}
    };

    bo() = default;

    bo(const device &on, std::size_t bytes, flags how, memory_group group)
        : object_(alloc(on, bytes, static_cast<std::uint32_t>(how), group)) {}
    bo(const device &on, std::size_t bytes, memory_group group) : bo(on, bytes, flags::normal, group) {}
    /* Flags as a number, as older programs have them. */
    template <typename Flags, typename = detail::number_like<Flags>>
    bo(const device &on, std::size_t bytes, Flags how, memory_group group)
        : bo(on, bytes, static_cast<flags>(how), group) {}
    bo(const hw_context &in, std::size_t bytes, flags how, memory_group group)
        : bo(in.get_device(), bytes, how, group) {}
    bo(const hw_context &in, std::size_t bytes, memory_group group) : bo(in.get_device(), bytes, group) {}

    bo(const device &on, void *user, std::size_t bytes, flags how, memory_group group)
        : object_(over(on, user, bytes, static_cast<std::uint32_t>(how), group)) {}
    bo(const device &on, void *user, std::size_t bytes, memory_group group)
        : bo(on, user, bytes, flags::normal, group) {}
    bo(const hw_context &in, void *user, std::size_t bytes, flags how, memory_group group)
        : bo(in.get_device(), user, bytes, how, group) {}
    bo(const hw_context &in, void *user, std::size_t bytes, memory_group group)
        : bo(in.get_device(), user, bytes, group) {}

    /* By a device's untyped handle: that of C (xrtDeviceOpen), or the result of a device's conversion. */
    bo(xclDeviceHandle on, std::size_t bytes, flags how, memory_group group) : bo(device(on), bytes, how, group) {}
    bo(xclDeviceHandle on, std::size_t bytes, memory_group group) : bo(device(on), bytes, group) {}
    template <typename Flags, typename = detail::number_like<Flags>>
    bo(xclDeviceHandle on, std::size_t bytes, Flags how, memory_group group)
        : bo(device(on), bytes, static_cast<flags>(how), group) {}
    bo(xclDeviceHandle on, void *user, std::size_t bytes, flags how, memory_group group)
        : bo(device(on), user, bytes, how, group) {}
    bo(xclDeviceHandle on, void *user, std::size_t bytes, memory_group group)
        : bo(device(on), user, bytes, group) {}

    /* A buffer that is exported in this process, by any device; the caller closes the handle. */
    using export_handle = int;
    bo(const device &, export_handle exported) {
        tmb_xrt_object *same = nullptr;
        detail::check(tmb_xrt_bo_import(exported, &same));
        object_ = detail::object(same);
    }

    export_handle export_buffer() {
        int exported = -1;
        detail::check(tmb_xrt_bo_export(handle(), &exported));
        return exported;
    }

    /* A part of another, which shares its bytes. */
    bo(const bo &parent, std::size_t bytes, std::size_t offset) {
        tmb_xrt_object *part = nullptr;
        detail::check(tmb_xrt_bo_part(parent.handle(), bytes, offset, &part));
        object_ = detail::object(part);
    }

    void sync(xclBOSyncDirection direction, std::size_t bytes, std::size_t offset) {
        detail::check(tmb_xrt_bo_sync(handle(), static_cast<std::uint32_t>(direction), bytes, offset));
    }
    void sync(xclBOSyncDirection direction) { sync(direction, size(), 0); }

    async_handle async(xclBOSyncDirection direction, std::size_t bytes, std::size_t offset) {
        sync(direction, bytes, offset);
        return async_handle();
    }
    async_handle async(xclBOSyncDirection direction) { return async(direction, size(), 0); }

    void *map() {
        void *pointer = nullptr;
        detail::check(tmb_xrt_bo_map(handle(), &pointer));
        return pointer;
    }

    template <typename Pointer> Pointer map() {
        static_assert(std::is_pointer<Pointer>::value, "map<T> wants a pointer type, as in map<int*>()");
        return reinterpret_cast<Pointer>(map());
    }

    template <typename Pointer> Pointer map() const {
        static_assert(std::is_pointer<Pointer>::value, "map<T> wants a pointer type, as in map<const int*>()");
        static_assert(std::is_const<typename std::remove_pointer<Pointer>::type>::value,
                      "a const bo is mapped to a pointer to const");
        void *pointer = nullptr;
        detail::check(tmb_xrt_bo_map(handle(), &pointer));
        return reinterpret_cast<Pointer>(pointer);
    }

    /* To and from the host's copy; for device_only buffers, the card. */
    void write(const void *source, std::size_t bytes, std::size_t seek) {
        detail::check(tmb_xrt_bo_write(handle(), source, bytes, seek));
    }
    void write(const void *source) { write(source, size(), 0); }
    void read(void *target, std::size_t bytes, std::size_t skip) {
        detail::check(tmb_xrt_bo_read(handle(), target, bytes, skip));
    }
    void read(void *target) { read(target, size(), 0); }

    /* On the card, from another buffer to this one. */
    void copy(const bo &source, std::size_t bytes, std::size_t source_offset = 0, std::size_t offset = 0) {
        detail::check(tmb_xrt_bo_copy(handle(), source.handle(), bytes, source_offset, offset));
    }
    void copy(const bo &source) { copy(source, source.size()); }

    std::size_t size() const {
        std::size_t bytes = 0;
        detail::check(tmb_xrt_bo_size(handle(), &bytes));
        return bytes;
    }

    std::uint64_t address() const {
        std::uint64_t address = 0;
        detail::check(tmb_xrt_bo_address(handle(), &address));
        return address;
    }

    memory_group get_memory_group() const {
        memory_group group = 0;
        detail::check(tmb_xrt_bo_group(handle(), &group));
        return group;
    }

    flags get_flags() const {
        std::uint32_t how = 0;
        detail::check(tmb_xrt_bo_flags(handle(), &how));
        return static_cast<flags>(how);
    }

    explicit operator bool() const { return static_cast<bool>(object_); }
    bool operator==(const bo &other) const { return object_ == other.object_; }
    bool operator!=(const bo &other) const { return !(*this == other); }
    bool operator<(const bo &other) const { return object_ < other.object_; }

    /* For the other headers. */
    tmb_xrt_object *handle() const { return object_.need("bo"); }

  private:
    static detail::object alloc(const device &on, std::size_t bytes, std::uint32_t how, memory_group group) {
        tmb_xrt_object *made = nullptr;
        detail::check(tmb_xrt_bo_alloc(on.handle(), bytes, how, group, &made));
        return detail::object(made);
    }

    static detail::object over(const device &on, void *user, std::size_t bytes, std::uint32_t how,
                               memory_group group) {
        tmb_xrt_object *made = nullptr;
        detail::check(tmb_xrt_bo_over(on.handle(), user, bytes, how, group, &made));
        return detail::object(made);
    }

    detail::object object_;
};

} // namespace xrt

#endif

#include "xrt/detail/c_bo.h"

#endif
