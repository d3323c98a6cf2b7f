// Copies a file through a kernel: copy KERNEL_FOLDER IN OUT
#include <iostream>
#include <tombolo.hpp>

int main(int argc, char **argv) try {
    if (argc != 4) {
        std::cerr << "usage: " << argv[0] << " KERNEL_FOLDER IN OUT\n";
        return 2;
    }
    auto card = tombolo::Card::functional();
    auto space = card.create_space();
    auto in = space.map_read(argv[2]);
    auto out = space.map_new(argv[3], in.bytes());
    auto slot = card.load(0, argv[1], space);
    slot.set("input", in);
    slot.set("output", out);
    slot.set("bytes", in.bytes());
    slot.start();
    slot.wait();
    out.unmap();  // the bytes are in the file now
    std::cout << card.report() << '\n';
    return 0;
} catch (const tombolo::Error &error) {
    std::cerr << tmb_status_name(error.status()) << ": " << error.what() << '\n';
    return 1;
}
