/* xrt::uuid */
#ifndef TOMBOLO_XRT_UUID_H
#define TOMBOLO_XRT_UUID_H

#include "xrt/xrt.h"

#ifdef __cplusplus

#include <cstring>
#include <string>

#include "xrt/detail/base.h"

namespace xrt {

/* 128 bits that name an xclbin. */
class uuid {
  public:
    uuid() { std::memset(bytes_, 0, sizeof bytes_); }

    uuid(const unsigned char *bytes) { std::memcpy(bytes_, bytes, sizeof bytes_); }

    explicit uuid(const std::string &text) : uuid() {
        if (!text.empty()) {
            detail::check(tmb_xrt_uuid_parse(text.c_str(), bytes_));
        }
    }

    const uuid_t &get() const { return bytes_; }

    unsigned char *data() { return bytes_; }

    std::string to_string() const {
        static const char digits[] = "0123456789abcdef";
        std::string text;
        for (int at = 0; at < 16; ++at) {
            if (at == 4 || at == 6 || at == 8 || at == 10) {
                text += '-';
            }
            text += digits[bytes_[at] >> 4];
            text += digits[bytes_[at] & 15];
        }
        return text;
    }

    operator bool() const { return *this != uuid(); }

    bool operator==(const unsigned char *other) const { return std::memcmp(bytes_, other, sizeof bytes_) == 0; }
    bool operator!=(const unsigned char *other) const { return !(*this == other); }
    bool operator==(const uuid &other) const { return *this == other.bytes_; }
    bool operator!=(const uuid &other) const { return !(*this == other); }
    bool operator<(const uuid &other) const { return std::memcmp(bytes_, other.bytes_, sizeof bytes_) < 0; }

  private:
    uuid_t bytes_;
};

} // namespace xrt

#endif
#endif
