// Stores of a core that do not wait for their lines: write_buffer KERNEL_FOLDER (with the kernel rpc, as plain memory)
#include <cstdint>
#include <cstring>
#include <iostream>
#include <tombolo.hpp>
#include <vector>

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " KERNEL_FOLDER\n";
        return 2;
    }
    const std::uint64_t base = 0x10000000, first = 32, lines = 16, words = TMB_LINE_BYTES / sizeof(std::uint64_t);
    tmb_card_options options = TMB_CARD_OPTIONS;
    options.platform = "enzian";
    options.coherent = 1;
    options.channel_bytes = std::uint64_t{64} << 20;
    auto card = tombolo::Card::simulated(options);
    auto space = card.create_space();
    auto slot = card.load(0, argv[1], space);
    slot.set("base", base);
    slot.set("handler", 0);
    slot.set("calls", 0);
    slot.start();
    auto writer = card.coherent_memory(base, 64 * TMB_LINE_BYTES);
    auto reader = card.coherent_memory(base, 64 * TMB_LINE_BYTES, 1);

    // 256 words in 16 lines: the words of a line merge, so nothing waits before the fence.
    auto buffer = writer.write_buffer();
    for (std::uint64_t word = 0; word < lines * words; word++) {
        const std::uint64_t value = word * word;
        buffer.store(first * TMB_LINE_BYTES + word * sizeof value, &value, sizeof value);
    }
    buffer.flush(first * TMB_LINE_BYTES);
    buffer.fence();
    buffer.close();

    // The other core looks at all lines at once.
    std::vector<tombolo::PendingLine> loads;
    for (std::uint64_t line = 0; line < lines; line++) {
        loads.push_back(reader.begin_load((first + line) * TMB_LINE_BYTES));
    }
    for (std::uint64_t line = 0; line < lines; line++) {
        const auto bytes = loads[line].wait();
        for (std::uint64_t at = 0; at < words; at++) {
            std::uint64_t value = 0;
            std::memcpy(&value, bytes.data() + at * sizeof value, sizeof value);
            const std::uint64_t word = line * words + at;
            if (value != word * word) {
                std::cerr << "word " << word << " is " << value << '\n';
                return 1;
            }
        }
    }

    // A call in the first two lines; arguments that are sent home with it take a round trip less.
    auto rpc = writer.rpc(0, true);
    if (std::memcmp(rpc.call("hello", 5).data(), "hello", 5) != 0) {
        std::cerr << "the answer is not the arguments\n";
        return 1;
    }
    std::cout << lines * words << " words stored and read\n";
    return 0;
} catch (const tombolo::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
