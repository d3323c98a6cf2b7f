// A kernel with registers of its own, of 64 bits: engine APP IN OUT. The work is over when a register has not changed between
// two reads, as programs of FSRF for gups and dnn have it.
#include "aos.hpp"

#include <sys/stat.h>

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    aos_client app;
    app.set_app_id(strtoul(argv[1], nullptr, 0));
    struct stat size;
    if (stat(argv[2], &size) != 0 || !app.connect())
        return 1;
    const uint64_t bytes = size.st_size;
    int in, out;
    app.aos_file_open(argv[2], in);
    app.aos_file_open(argv[3], out);
    void *from = nullptr, *to = nullptr;
    app.aos_mmap(from, bytes, PROT_READ, MAP_SHARED, in, 0);
    app.aos_mmap(to, bytes, PROT_WRITE, MAP_SHARED, out, 0);
    app.aos_file_close(in);
    app.aos_cntrlreg_write(0x08, reinterpret_cast<uint64_t>(from));
    app.aos_cntrlreg_write(0x10, reinterpret_cast<uint64_t>(to));
    app.aos_cntrlreg_write(0x18, bytes);
    // [33] idle, [44] complete: 0 until the copy is over.
    uint64_t before, now = ~0ul;
    do {
        before = now;
        app.aos_cntrlreg_read(0x00, now);
    } while (now != before);
    if ((now >> 44 & 1) == 0) {
        fprintf(stderr, "status %#lx: two reads were the same, and it is not done\n", now);
        return 1;
    }
    app.aos_msync(to, bytes, MS_SYNC);
    if (app.aos_file_close(out) != aos_errcode::SUCCESS)
        return 1;
    puts("done");
}
