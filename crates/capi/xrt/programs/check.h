/* Checks for the programs of this folder. Each ends with "TEST PASSED" and 0, or prints the failure. */
#ifndef TOMBOLO_XRT_PROGRAMS_CHECK_H
#define TOMBOLO_XRT_PROGRAMS_CHECK_H

#include <cstdlib>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

inline void fail(const std::string &what, int line) {
    std::cout << "line " << line << ": " << what << "\nTEST FAILED\n";
    std::exit(EXIT_FAILURE);
}

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fail(#condition, __LINE__);                                                                                \
        }                                                                                                              \
    } while (false)

/* The call throws std::system_error with this errno, and its text has these words. */
inline void refused_at(int line, int code, const std::string &words, const std::function<void()> &call) {
    try {
        call();
    } catch (const std::system_error &error) {
        const std::string text = error.what();
        if (error.code().value() != code) {
            fail("code " + std::to_string(error.code().value()) + ": " + text, line);
        }
        if (text.find(words) == std::string::npos) {
            fail("not said: " + words + ": " + text, line);
        }
        return;
    }
    fail("not refused: " + words, line);
}

#define REFUSED(code, words, ...) refused_at(__LINE__, code, words, [&] { __VA_ARGS__; })

/* The call throws this class. */
#define THROWS(type, ...)                                                                                              \
    do {                                                                                                               \
        bool thrown = false;                                                                                           \
        try {                                                                                                          \
            __VA_ARGS__;                                                                                               \
        } catch (const type &) {                                                                                       \
            thrown = true;                                                                                             \
        }                                                                                                              \
        EXPECT(thrown);                                                                                                \
    } while (false)

inline int passed() {
    std::cout << "TEST PASSED\n";
    return EXIT_SUCCESS;
}

/* Runs the program's body. */
inline int guarded(const std::function<void()> &body) {
    try {
        body();
    } catch (const std::exception &error) {
        std::cout << "thrown: " << error.what() << "\nTEST FAILED\n";
        return EXIT_FAILURE;
    }
    return passed();
}

#endif
