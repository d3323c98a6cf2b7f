// Updates a table until it is killed: endless APP TABLE
#include "aos.hpp"

#include <sys/stat.h>

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    aos_client app;
    app.set_app_id(strtoul(argv[1], nullptr, 0));
    struct stat size;
    if (stat(argv[2], &size) != 0 || !app.connect())
        return 1;
    int fd;
    void *table = nullptr;
    app.aos_file_open(argv[2], fd);
    app.aos_mmap(table, size.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    app.aos_cntrlreg_write(0x10, reinterpret_cast<uint64_t>(table));
    app.aos_cntrlreg_write(0x18, 12);
    app.aos_cntrlreg_write(0x20, 1ul << 50);
    app.aos_cntrlreg_write(0x28, 1);
    app.aos_cntrlreg_write(0x00, 1);
    uint64_t control = 0;
    for (int reads = 0; (control & 2) == 0; ++reads) {
        app.aos_cntrlreg_read(0x00, control);
        if (reads == 2) {
            puts("under way");
            fflush(stdout);
        }
    }
}
