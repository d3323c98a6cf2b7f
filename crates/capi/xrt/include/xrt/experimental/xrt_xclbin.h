/* xrt::xclbin */
#ifndef TOMBOLO_XRT_XCLBIN_H
#define TOMBOLO_XRT_XCLBIN_H

#include "xrt/detail/xclbin.h"
#include "xrt/xrt.h"
#include "xrt/xrt_uuid.h"

#ifdef __cplusplus

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>

#include "xrt/detail/base.h"

namespace xrt {

/* The metadata of an .xclbin. Copies refer to the same file. */
class xclbin {
    /* Answers about entries of a file. */
    struct file {
        detail::object object;

        std::uint32_t count(std::uint32_t list, std::uint32_t index = 0) const {
            std::uint32_t found = 0;
            detail::check(tmb_xrt_xclbin_count(object.need("xclbin"), list, index, &found));
            return found;
        }
        std::string text(std::uint32_t what, std::uint32_t index = 0, std::uint32_t place = 0) const {
            char *found = nullptr;
            detail::check(tmb_xrt_xclbin_text(object.need("xclbin"), what, index, place, &found));
            return detail::take(found);
        }
        std::uint64_t number(std::uint32_t what, std::uint32_t index = 0, std::uint32_t place = 0) const {
            std::uint64_t found = 0;
            detail::check(tmb_xrt_xclbin_number(object.need("xclbin"), what, index, place, &found));
            return found;
        }
    };

    /* An entry of a list; an empty one is of no file. */
    struct entry {
        file of;
        std::uint32_t index = 0;
        explicit operator bool() const { return static_cast<bool>(of.object); }
    };

  public:
    enum class target_type { hw, sw_emu, hw_emu };

    /* A memory bank, or a group of banks. */
    class mem {
      public:
        enum class memory_type : std::uint8_t {
            ddr3 = 0,
            ddr4 = 1,
            dram = 2,
            streaming = 3,
            preallocated_global = 4,
            are = 5,
            hbm = 6,
            bram = 7,
            uram = 8,
            streaming_connection = 9,
            host = 10
        };

        mem() = default;
        std::string get_tag() const { return entry_.of.text(TMB_XRT_MEMORY_TAG, entry_.index); }
        std::uint64_t get_base_address() const { return entry_.of.number(TMB_XRT_MEMORY_ADDRESS, entry_.index); }
        std::uint64_t get_size_kb() const { return entry_.of.number(TMB_XRT_MEMORY_BYTES, entry_.index) / 1024; }
        bool get_used() const { return entry_.of.number(TMB_XRT_MEMORY_USED, entry_.index) != 0; }
        memory_type get_type() const {
            return static_cast<memory_type>(entry_.of.number(TMB_XRT_MEMORY_TYPE, entry_.index));
        }
        /* The memory group argument of a bo. */
        std::int32_t get_index() const { return static_cast<std::int32_t>(entry_.index); }
        explicit operator bool() const { return static_cast<bool>(entry_); }

      private:
        friend class xclbin;
        explicit mem(entry of) : entry_(std::move(of)) {}
        entry entry_;
    };

    /* An argument of a kernel; of a compute unit, it has memories. */
    class arg {
      public:
        arg() = default;
        std::string get_name() const { return of_.text(TMB_XRT_ARGUMENT_NAME, kernel_, place_); }
        std::string get_port() const { return of_.text(TMB_XRT_ARGUMENT_PORT, kernel_, place_); }
        std::string get_host_type() const { return of_.text(TMB_XRT_ARGUMENT_TYPE, kernel_, place_); }
        std::uint64_t get_size() const { return of_.number(TMB_XRT_ARGUMENT_BYTES, kernel_, place_); }
        std::uint64_t get_offset() const { return of_.number(TMB_XRT_ARGUMENT_OFFSET, kernel_, place_); }
        std::size_t get_index() const {
            return static_cast<std::size_t>(of_.number(TMB_XRT_ARGUMENT_INDEX, kernel_, place_));
        }
        std::vector<mem> get_mems() const {
            std::vector<mem> found;
            for (std::uint32_t unit = 0; unit < of_.count(TMB_XRT_UNITS); ++unit) {
                if (unit_ != any && unit_ != unit) {
                    continue;
                }
                if (of_.number(TMB_XRT_UNIT_KERNEL, unit) != kernel_) {
                    continue;
                }
                const std::uint64_t group = of_.number(TMB_XRT_UNIT_GROUP, unit, place_);
                if (group != ~std::uint64_t(0)) {
                    found.push_back(mem(entry{of_, static_cast<std::uint32_t>(group)}));
                }
            }
            return found;
        }
        explicit operator bool() const { return static_cast<bool>(of_.object); }

      private:
        friend class xclbin;
        static const std::uint32_t any = 0xffffffffu;
        arg(file of, std::uint32_t kernel, std::uint32_t unit, std::uint32_t place)
            : of_(std::move(of)), kernel_(kernel), unit_(unit), place_(place) {}
        file of_;
        std::uint32_t kernel_ = 0;
        std::uint32_t unit_ = 0;
        std::uint32_t place_ = 0;
    };

    /* A compute unit. */
    class ip {
      public:
        enum class control_type : std::uint8_t { hs = 0, chain = 1, none = 2, fa = 5 };
        enum class ip_type : std::uint8_t { pl = 0, ps = 1 };

        ip() = default;
        std::string get_name() const { return entry_.of.text(TMB_XRT_UNIT_NAME, entry_.index); }
        ip_type get_type() const { return ip_type::pl; }
        control_type get_control_type() const {
            return static_cast<control_type>(entry_.of.number(TMB_XRT_UNIT_CONTROL, entry_.index));
        }
        std::size_t get_num_args() const { return entry_.of.count(TMB_XRT_ARGUMENTS, kernel()); }
        std::vector<arg> get_args() const { return arguments_of(entry_.of, kernel(), entry_.index); }
        arg get_arg(std::int32_t index) const { return argument_at(get_args(), index); }
        std::uint64_t get_base_address() const { return entry_.of.number(TMB_XRT_UNIT_ADDRESS, entry_.index); }
        std::size_t get_size() const { return 0x10000; }
        explicit operator bool() const { return static_cast<bool>(entry_); }

      private:
        friend class xclbin;
        explicit ip(entry of) : entry_(std::move(of)) {}
        std::uint32_t kernel() const {
            return static_cast<std::uint32_t>(entry_.of.number(TMB_XRT_UNIT_KERNEL, entry_.index));
        }
        entry entry_;
    };

    /* A kernel with its compute units. */
    class kernel {
      public:
        enum class kernel_type : std::uint8_t { none = 0, pl = 1, ps = 2, dpu = 3 };

        kernel() = default;
        std::string get_name() const { return entry_.of.text(TMB_XRT_KERNEL_NAME, entry_.index); }
        kernel_type get_type() const { return kernel_type::pl; }
        std::vector<ip> get_cus() const {
            std::vector<ip> found;
            for (std::uint32_t unit = 0; unit < entry_.of.count(TMB_XRT_UNITS); ++unit) {
                if (entry_.of.number(TMB_XRT_UNIT_KERNEL, unit) == entry_.index) {
                    found.push_back(ip(entry{entry_.of, unit}));
                }
            }
            return found;
        }
        std::vector<ip> get_cus(const std::string &name) const {
            std::vector<ip> found;
            for (const ip &unit : get_cus()) {
                if (names(unit.get_name(), name)) {
                    found.push_back(unit);
                }
            }
            return found;
        }
        ip get_cu(const std::string &name) const {
            const std::vector<ip> found = get_cus(name);
            return found.empty() ? ip() : found.front();
        }
        std::size_t get_num_args() const { return entry_.of.count(TMB_XRT_ARGUMENTS, entry_.index); }
        std::vector<arg> get_args() const { return arguments_of(entry_.of, entry_.index, arg::any); }
        arg get_arg(std::int32_t index) const { return argument_at(get_args(), index); }
        explicit operator bool() const { return static_cast<bool>(entry_); }

      private:
        friend class xclbin;
        explicit kernel(entry of) : entry_(std::move(of)) {}
        entry entry_;
    };

    /* Of AI engines, which no card has: there is none. */
    class aie_partition {
      public:
        std::uint32_t get_operations_per_cycle() const { return 0; }
        std::uint64_t get_inference_fingerprint() const { return 0; }
        std::uint64_t get_pre_post_fingerprint() const { return 0; }
    };

    xclbin() = default;

    /* A file, by its path or by its name in the folder of the environment's XCL_BINDIR. */
    explicit xclbin(const std::string &path) {
        tmb_xrt_object *read = nullptr;
        detail::check(tmb_xrt_xclbin_open(find(path).c_str(), &read));
        file_.object = detail::object(read);
    }
    explicit xclbin(const char *path) : xclbin(std::string(path)) {}

    explicit xclbin(const std::vector<char> &bytes) {
        tmb_xrt_object *read = nullptr;
        detail::check(tmb_xrt_xclbin_parse(bytes.data(), bytes.size(), &read));
        file_.object = detail::object(read);
    }

    explicit xclbin(const axlf *bytes) {
        tmb_xrt_object *read = nullptr;
        detail::check(tmb_xrt_xclbin_parse_axlf(bytes, &read));
        file_.object = detail::object(read);
    }

    std::vector<kernel> get_kernels() const {
        std::vector<kernel> found;
        for (std::uint32_t index = 0; index < file_.count(TMB_XRT_KERNELS); ++index) {
            found.push_back(kernel(entry{file_, index}));
        }
        return found;
    }

    kernel get_kernel(const std::string &name) const {
        for (const kernel &one : get_kernels()) {
            if (one.get_name() == name) {
                return one;
            }
        }
        return kernel();
    }

    std::vector<ip> get_ips() const {
        std::vector<ip> found;
        for (std::uint32_t index = 0; index < file_.count(TMB_XRT_UNITS); ++index) {
            found.push_back(ip(entry{file_, index}));
        }
        return found;
    }

    std::vector<ip> get_ips(const std::string &name) const {
        std::vector<ip> found;
        for (const ip &one : get_ips()) {
            if (names(one.get_name(), name)) {
                found.push_back(one);
            }
        }
        return found;
    }

    ip get_ip(const std::string &name) const {
        const std::vector<ip> found = get_ips(name);
        return found.empty() ? ip() : found.front();
    }

    std::vector<mem> get_mems() const {
        std::vector<mem> found;
        for (std::uint32_t index = 0; index < file_.count(TMB_XRT_MEMORIES); ++index) {
            found.push_back(mem(entry{file_, index}));
        }
        return found;
    }

    std::vector<aie_partition> get_aie_partitions() const { return {}; }

    template <typename Section> Section get_axlf_section(axlf_section_kind) const {
        detail::unsupported("xclbin.get_axlf_section", "an .xclbin of `tombolo link` has no sections; use get_kernels, "
                                                       "get_ips and get_mems");
    }

    uuid get_uuid() const {
        uuid own;
        detail::check(tmb_xrt_xclbin_uuid(handle(), own.data()));
        return own;
    }

    /* There is one shell for every design, so it has no UUID of its own. */
    uuid get_interface_uuid() const { return uuid(); }
    std::string get_xsa_name() const { return "tombolo_" + file_.text(TMB_XRT_PLATFORM); }
    std::string get_fpga_device_name() const { return file_.text(TMB_XRT_PLATFORM); }
    target_type get_target_type() const { return target_type::hw_emu; }

    /* The file's bytes, which only this library reads; valid as long as a copy of this object. */
    const axlf *get_axlf() const {
        if (!bytes_) {
            std::size_t count = 0;
            detail::check(tmb_xrt_xclbin_bytes(handle(), nullptr, &count));
            bytes_ = std::make_shared<std::vector<char>>(count);
            detail::check(tmb_xrt_xclbin_bytes(handle(), bytes_->data(), &count));
        }
        return reinterpret_cast<const axlf *>(bytes_->data());
    }

    explicit operator bool() const { return static_cast<bool>(file_.object); }
    bool operator==(const xclbin &other) const { return file_.object == other.file_.object; }
    bool operator!=(const xclbin &other) const { return !(*this == other); }

    /* For the other headers. */
    tmb_xrt_object *handle() const { return file_.object.need("xclbin"); }
    static xclbin of_device(tmb_xrt_object *device) {
        tmb_xrt_object *found = nullptr;
        detail::check(tmb_xrt_xclbin_of_device(device, &found));
        xclbin loaded;
        loaded.file_.object = detail::object(found);
        return loaded;
    }
    static std::string find(const std::string &path) {
        const char *folder = std::getenv("XCL_BINDIR");
        if (folder == nullptr || path.empty() || path[0] == '/' || std::ifstream(path).good()) {
            return path;
        }
        const std::string other = std::string(folder) + "/" + path;
        return std::ifstream(other).good() ? other : path;
    }

  private:
    /* Whether kernel:unit is meant by "kernel", "kernel:unit", "kernel:{unit}", "{unit}" or "unit". */
    static bool names(const std::string &full, const std::string &name) {
        const std::size_t colon = full.find(':');
        const std::string kernel = full.substr(0, colon);
        const std::string unit = full.substr(colon + 1);
        return name == full || name == kernel || name == unit || name == kernel + ":{" + unit + "}" ||
               name == "{" + unit + "}";
    }

    static std::vector<arg> arguments_of(const file &of, std::uint32_t kernel, std::uint32_t unit) {
        std::vector<arg> found;
        for (std::uint32_t place = 0; place < of.count(TMB_XRT_ARGUMENTS, kernel); ++place) {
            found.push_back(arg(of, kernel, unit, place));
        }
        return found;
    }

    static arg argument_at(const std::vector<arg> &arguments, std::int32_t index) {
        for (const arg &one : arguments) {
            if (one.get_index() == static_cast<std::size_t>(index)) {
                return one;
            }
        }
        return arg();
    }

    file file_;
    mutable std::shared_ptr<std::vector<char>> bytes_;
};

/* The .xclbin files of a folder; without one, of XCL_BINDIR, or else of the working directory. In order of their names. */
class xclbin_repository {
  public:
    class iterator {
      public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = xclbin;
        using difference_type = std::ptrdiff_t;
        using pointer = const value_type *;
        using reference = value_type;

        explicit iterator(const std::string *at) : at_(at) {}
        const std::string &path() const { return *at_; }
        xclbin operator*() const { return xclbin(*at_); }
        iterator &operator++() {
            ++at_;
            return *this;
        }
        iterator operator++(int) { return iterator(at_++); }
        difference_type operator-(const iterator &other) const { return at_ - other.at_; }
        bool operator==(const iterator &other) const { return at_ == other.at_; }
        bool operator!=(const iterator &other) const { return at_ != other.at_; }

      private:
        const std::string *at_;
    };

    explicit xclbin_repository(const std::string &folder) : paths_(std::make_shared<std::vector<std::string>>()) {
        DIR *const open = opendir(folder.c_str());
        if (open == nullptr) {
            throw std::system_error(errno, std::generic_category(), "xclbin_repository: " + folder);
        }
        const std::string kind = ".xclbin";
        for (const dirent *entry = readdir(open); entry != nullptr; entry = readdir(open)) {
            const std::string name = entry->d_name;
            if (name.size() > kind.size() && name.compare(name.size() - kind.size(), kind.size(), kind) == 0) {
                paths_->push_back(folder + "/" + name);
            }
        }
        closedir(open);
        std::sort(paths_->begin(), paths_->end());
    }
    xclbin_repository() : xclbin_repository(default_folder()) {}

    iterator begin() const { return iterator(paths_->data()); }
    iterator end() const { return iterator(paths_->data() + paths_->size()); }

    /* By the name of a file in the folder. */
    xclbin load(const std::string &name) const {
        for (const std::string &path : *paths_) {
            if (path.substr(path.rfind('/') + 1) == name) {
                return xclbin(path);
            }
        }
        throw std::system_error(ENOENT, std::generic_category(), "xclbin_repository: load: " + name);
    }

  private:
    static std::string default_folder() {
        const char *folder = std::getenv("XCL_BINDIR");
        return folder == nullptr ? "." : folder;
    }

    std::shared_ptr<std::vector<std::string>> paths_;
};

} // namespace xrt

#endif

#include "xrt/detail/c_device.h"

#endif
