// Calls of many lines to the kernel rpc_lines: rpc_lines KERNEL_FOLDER. The expected answers are computed here.
#include <cstdint>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tombolo.hpp>
#include <vector>

namespace {

enum : std::uint64_t { Count = 0, Checksum = 1, Echo = 2 };

void expect(bool holds, const std::string &what) {
    if (!holds) throw std::runtime_error(what);
}

/// Bytes that differ from call to call.
std::vector<std::uint8_t> payload(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::uint8_t> made(bytes);
    for (std::uint8_t &byte : made) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<std::uint8_t>(seed >> 56);
    }
    return made;
}

} // namespace

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " KERNEL_FOLDER\n";
        return 2;
    }
    const std::uint64_t base = 0x10000000;
    tmb_card_options options = TMB_CARD_OPTIONS;
    options.platform = "enzian";
    options.coherent = 2;
    auto card = tombolo::Card::simulated(options);
    auto space = card.create_space();
    auto slot = card.load(0, argv[1], space);
    slot.set("base", base);
    slot.start();
    auto memory = card.coherent_memory(base, TMB_RPC_LINES_BYTES);
    auto rpc = memory.rpc_lines();

    // Whole lines and parts of one, none, one, many; each handler; what the last call brought is the next one's window.
    std::uint32_t calls = 0;
    for (std::uint64_t handler : {Count, Checksum, Echo}) {
        slot.set("handler", handler);
        for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{128}, std::size_t{129}, std::size_t{5000}}) {
            const std::string name = "handler " + std::to_string(handler) + ", " + std::to_string(bytes) + " bytes: ";
            const std::vector<std::uint8_t> request = payload(bytes, 1 + calls);
            std::vector<std::uint8_t> whole = request;
            whole.resize((bytes + TMB_LINE_BYTES - 1) / TMB_LINE_BYTES * TMB_LINE_BYTES);
            std::uint64_t sum = 0, check = 0;
            for (std::size_t at = 0; at < whole.size() && handler != Count; at += 8) {
                std::uint64_t word;
                std::memcpy(&word, &whole[at], sizeof word);
                sum += word;
                check ^= word;
            }
            std::vector<std::uint8_t> answer(handler == Echo ? whole.size() : 0);
            const tmb_lines_answer about = rpc.call(request.data(), request.size(), answer);
            expect(about.lines == whole.size() / TMB_LINE_BYTES, name + std::to_string(about.lines) + " lines");
            expect(about.calls == calls++, name + std::to_string(about.calls) + " calls before");
            expect(about.sum == sum && about.xor_bits == check, name + "another checksum");
            expect(handler != Echo || answer == whole, name + "the answer is another");
        }
    }
    rpc.prepare(300);
    std::vector<std::uint8_t> none;
    expect(rpc.call(nullptr, 0, none).calls == calls, "prepared lines may stay unused");

    try {
        rpc.prepare(TMB_RPC_LINES_MOST + 1);
        throw std::runtime_error("too many lines were prepared");
    } catch (const tombolo::Error &error) {
        expect(error.status() == TMB_ERROR_COHERENT_RANGE, error.what());
    }
    std::cout << calls + 1 << " calls\n";
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
