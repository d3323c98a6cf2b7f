/* xrt::mailbox */
#ifndef TOMBOLO_XRT_MAILBOX_H
#define TOMBOLO_XRT_MAILBOX_H

#ifdef __cplusplus

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "xrt/xrt_kernel.h"

namespace xrt {

/* Arguments of a run that restarts automatically (autostart): written values take effect together, at its next iteration. */
class mailbox {
  public:
    explicit mailbox(const run &of) : run_(of) {}

    template <typename Value> void set_arg(int index, Value &&value) {
        run_.set_arg(index, std::forward<Value>(value));
    }
    template <typename Value> void set_arg(const std::string &name, Value &&value) {
        run_.set_arg(name, std::forward<Value>(value));
    }

    /* Gives the kernel what was set. */
    void write() { detail::check(tmb_xrt_run_renew(run_.handle())); }

    /* Takes the registers of all arguments after a run with the values that were written last. */
    void read() {
        detail::check(tmb_xrt_run_settle(run_.handle()));
        std::uint32_t count = 0;
        detail::check(tmb_xrt_run_argument_count(run_.handle(), &count));
        for (std::uint32_t index = 0; index < count; ++index) {
            tmb_xrt_argument what;
            detail::check(tmb_xrt_run_argument(run_.handle(), index, &what));
            std::vector<unsigned char> &bytes = values_[static_cast<int>(index)];
            bytes.resize(what.bytes);
            std::size_t count_of = bytes.size();
            detail::check(tmb_xrt_run_read_argument(run_.handle(), index, bytes.data(), &count_of));
        }
    }

    /* A value as it was when read was called, and its bytes. */
    std::pair<const void *, std::size_t> get_arg(int index) const {
        const auto found = values_.find(index);
        if (found == values_.end()) {
            throw std::system_error(EINVAL, std::generic_category(),
                                    "mailbox: get_arg(" + std::to_string(index) + "): nothing was read; call read first");
        }
        return {found->second.data(), found->second.size()};
    }
    std::pair<const void *, std::size_t> get_arg(const std::string &name) const { return get_arg(run_.index_of(name)); }

  private:
    run run_;
    std::map<int, std::vector<unsigned char>> values_;
};

} // namespace xrt

#endif
#endif
