// Errors of a program, and their replies: mistakes WHICH FILE APP. Prints the reply.
#include "aos.hpp"

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const std::string which = argv[1];
    aos_client app;
    app.set_app_id(strtoul(argv[3], nullptr, 0));
    if (!app.connect())
        return 1;
    int fd = -2;
    void *at = nullptr;
    uint64_t value = 0;
    if (which == "missing") {
        app.aos_file_open(argv[2], fd);
        printf("%d\n", fd);
        return 0;
    }
    if (which == "app" || which == "register") {
        app.aos_cntrlreg_read(which == "app" ? 0 : 0xfffc, value);
        printf("%lu\n", value);
        return 0;
    }
    app.aos_file_open(argv[2], fd);
    if (which == "close twice") {
        app.aos_file_close(fd);
        printf("%d\n", static_cast<int>(app.aos_file_close(fd)));
        return 0;
    }
    const int both = PROT_READ | PROT_WRITE;
    if (which == "length")
        app.aos_mmap(at, 0, PROT_READ, MAP_SHARED, fd, 0);
    else if (which == "offset")
        app.aos_mmap(at, 64, PROT_READ, MAP_SHARED, fd, 64);
    else if (which == "too long")
        app.aos_mmap(at, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
    else if (which == "private")
        app.aos_mmap(at, 64, both, MAP_PRIVATE, fd, 0);
    else if (which == "anonymous")
        app.aos_mmap(at, 64, both, MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    else if (which == "no rights")
        app.aos_mmap(at, 64, PROT_NONE, MAP_SHARED, fd, 0);
    else if (which == "descriptor")
        app.aos_mmap(at, 64, PROT_READ, MAP_SHARED, fd + 1, 0);
    else if (which == "fixed")
        app.aos_mmap(at = reinterpret_cast<void *>(1ul << 50), 64, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    else if (which == "writable")
        app.aos_mmap(at, 64, both, MAP_SHARED, fd, 0);
    else if (which == "address") {
        // The kernel uses addresses that are not mapped.
        app.aos_cntrlreg_write(0x10, 0x123000);
        app.aos_cntrlreg_write(0x18, 0x456000);
        app.aos_cntrlreg_write(0x20, 64);
        app.aos_cntrlreg_write(0x00, 1);
        while ((value & 2) == 0)
            app.aos_cntrlreg_read(0x00, value);
    } else if (which == "nothing mapped") {
        app.aos_munmap(reinterpret_cast<void *>(0x1000000), 64);
        app.aos_msync(reinterpret_cast<void *>(0x1000000), 64, MS_SYNC);
        printf("%d\n", static_cast<int>(app.aos_file_close(fd)));
        return 0;
    } else
        return 2;
    printf("%s\n", at == MAP_FAILED ? "MAP_FAILED" : "mapped");
}
