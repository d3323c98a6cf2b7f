/* Below the headers of XRT's names: handles, exceptions, texts. Not for programs. */
#ifndef TOMBOLO_XRT_DETAIL_BASE_H
#define TOMBOLO_XRT_DETAIL_BASE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tombolo_xrt.h"

namespace xrt {
namespace detail {

/* Throws what a call's answer stands for. */
inline void check(int answer) {
    if (answer == 0) {
        return;
    }
    const std::string text = tmb_last_error();
    if (answer == TMB_XRT_OUT_OF_RANGE) {
        throw std::out_of_range(text);
    }
    if (answer == TMB_XRT_RUNTIME) {
        throw std::runtime_error(text);
    }
    throw std::system_error(answer, std::generic_category(), text);
}

/* A call that does not exist on this card, with the reason. */
[[noreturn]] inline void unsupported(const std::string &what, const std::string &why) {
    throw std::system_error(ENOTSUP, std::generic_category(), what + ": not offered: " + why);
}

/* A text that the library gives away. */
inline std::string take(char *text) {
    const std::string taken = text;
    tmb_text_free(text);
    return taken;
}

/* A shared handle, as all classes of XRT are: copies are the same object, the last closes it. */
class object {
  public:
    object() = default;

    explicit object(tmb_xrt_object *handle) : shared_(handle, [](tmb_xrt_object *last) { tmb_xrt_close(last); }) {}

    tmb_xrt_object *get() const { return shared_.get(); }

    /* For a call that needs one. */
    tmb_xrt_object *need(const char *what) const {
        if (!shared_) {
            throw std::system_error(EINVAL, std::generic_category(),
                                    std::string(what) + ": it is empty: nothing was assigned to it");
        }
        return shared_.get();
    }

    explicit operator bool() const { return static_cast<bool>(shared_); }

    bool operator==(const object &other) const { return shared_ == other.shared_; }

    bool operator<(const object &other) const { return shared_ < other.shared_; }

  private:
    std::shared_ptr<tmb_xrt_object> shared_;
};

} // namespace detail
} // namespace xrt

#endif
