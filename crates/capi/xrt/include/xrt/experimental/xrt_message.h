/* xrt::message: lines on standard error. */
#ifndef TOMBOLO_XRT_MESSAGE_H
#define TOMBOLO_XRT_MESSAGE_H

#ifdef __cplusplus

#include <cstdio>
#include <string>

namespace xrt {
namespace message {

enum class level : unsigned short {
    emergency = 0,
    alert = 1,
    critical = 2,
    error = 3,
    warning = 4,
    notice = 5,
    info = 6,
    debug = 7
};

inline void log(level how, const std::string &tag, const std::string &text) {
    static const char *const names[] = {"EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"};
    std::fprintf(stderr, "[%s] %s: %s\n", tag.c_str(), names[static_cast<unsigned short>(how) & 7], text.c_str());
}

template <typename... Values>
void logf(level how, const std::string &tag, const char *format, Values &&...values) {
    char text[1024];
    std::snprintf(text, sizeof text, format, values...);
    log(how, tag, text);
}

} // namespace message
} // namespace xrt

#endif
#endif
