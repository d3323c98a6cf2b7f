// An HLS kernel with an input, an output and their length, for N applications at a time:
// hls FIRST N LANES IN... OUT...   (LANES 0: the kernel has no such argument). OUT is there already.
#include "aos.hpp"

#include <sys/stat.h>
#include <vector>

int main(int argc, char **argv) {
    const unsigned long first = strtoul(argv[1], nullptr, 0), count = strtoul(argv[2], nullptr, 0);
    const uint64_t lanes = strtoul(argv[3], nullptr, 0);
    char **files = argv + 4;
    if (argc != static_cast<int>(4 + 2 * count))
        return 2;
    std::vector<aos_client> clients(count);
    std::vector<void *> in(count), out(count);
    std::vector<uint64_t> in_bytes(count), out_bytes(count);
    for (unsigned long i = 0; i < count; ++i) {
        aos_client &app = clients[i];
        app.set_slot_id(0);
        app.set_app_id(first + i);
        if (!app.connect()) {
            perror("connect");
            return 1;
        }
        app.aos_set_mode(0, 1);
        app.aos_set_mode(3, 1 << 5);
        int fd[2];
        struct stat size[2];
        for (int file = 0; file < 2; ++file) {
            const char *path = files[i + file * count];
            app.aos_file_open(path, fd[file]);
            if (fd[file] < 0 || stat(path, &size[file]) != 0) {
                perror(path);
                return 1;
            }
        }
        in_bytes[i] = size[0].st_size;
        out_bytes[i] = size[1].st_size;
        app.aos_mmap(in[i], in_bytes[i], PROT_READ, MAP_SHARED | MAP_POPULATE, fd[0], 0);
        app.aos_mmap(out[i], out_bytes[i], PROT_READ | PROT_WRITE, 0, fd[1], 0);
        app.aos_cntrlreg_write(0x10, reinterpret_cast<uint64_t>(in[i]));
        app.aos_cntrlreg_write(0x18, reinterpret_cast<uint64_t>(out[i]));
        app.aos_cntrlreg_write(0x20, in_bytes[i]);
        if (lanes != 0)
            app.aos_cntrlreg_write(0x28, lanes);
    }
    for (aos_client &app : clients)
        app.aos_cntrlreg_write(0x00, 1);
    for (aos_client &app : clients) {
        uint64_t control = 0;
        do
            app.aos_cntrlreg_read(0x00, control);
        while ((control & 2) == 0);
    }
    for (unsigned long i = 0; i < count; ++i) {
        clients[i].aos_munmap(in[i], in_bytes[i]);
        clients[i].aos_munmap(out[i], out_bytes[i]);
        // The last descriptor of the application: what was written is in the file then.
        const int last = static_cast<int>(2 * i + 4);
        if (clients[i].aos_file_close(last - 1) != aos_errcode::SUCCESS
            || clients[i].aos_file_close(last) != aos_errcode::SUCCESS)
            return 1;
    }
    puts("done");
}
