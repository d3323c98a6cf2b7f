// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Driver of DRAMsim3 for tools/dramsim3: issues the accesses of a trace with a limited number outstanding, as
// Traffic::windowed of crates/lab does with our model, and prints the clocks until the last completion.
//
// A word of the trace is the address of an access's first burst; its top bit marks a write. A read is complete when all
// its bursts are back and, in order, all older reads are complete; a write, when the controller has accepted its bursts.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dramsim3.h"

namespace {

constexpr uint64_t kWrite = uint64_t(1) << 63;

struct Waiting {
    size_t access;
    uint64_t arrival;
    unsigned accepted;
};

std::vector<uint64_t> ReadTrace(const char *path) {
    std::vector<uint64_t> trace;
    FILE *file = std::fopen(path, "rb");
    uint64_t word;
    while (file && std::fread(&word, sizeof word, 1, file) == 1) trace.push_back(word);
    if (file) std::fclose(file);
    return trace;
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 12) {
        std::fprintf(stderr,
                     "use: CONFIG OUTPUT TRACE ordered|unordered BURSTS BURST_BYTES OUTSTANDING EACH_DIRECTION "
                     "REQUEST_CLOCKS RESPONSE_CLOCKS WRITE_RESPONSE_CLOCKS\n");
        return 2;
    }
    const std::vector<uint64_t> trace = ReadTrace(arguments[3]);
    const bool ordered = std::string(arguments[4]) == "ordered";
    auto number = [&](int index) { return std::strtoull(arguments[index], nullptr, 10); };
    const unsigned bursts = number(5);
    const uint64_t burst_bytes = number(6);
    const size_t outstanding = number(7), each = number(8);
    const uint64_t request = number(9), response = number(10), write_response = number(11);
    if (trace.empty()) return 1;

    uint64_t now = 0, finished = 0;
    std::vector<unsigned> missing(trace.size(), bursts);
    std::vector<uint64_t> ready(trace.size(), UINT64_MAX);
    std::multimap<uint64_t, size_t> reads_at;  // burst under way, and its access
    std::deque<size_t> reads, writes;          // issued and not complete, in order
    std::deque<Waiting> to_read, to_write;     // on the way to the controller

    auto read_done = [&](uint64_t address) {
        auto found = reads_at.find(address);
        if (found == reads_at.end()) std::abort();
        if (--missing[found->second] == 0) ready[found->second] = now + response;
        reads_at.erase(found);
    };
    dramsim3::MemorySystem *memory =
        dramsim3::GetMemorySystem(arguments[1], arguments[2], read_done, [](uint64_t) {});

    auto complete = [&](std::deque<size_t> &queue, bool in_order) {
        size_t completed = 0;
        for (auto access = queue.begin(); access != queue.end();) {
            if (ready[*access] <= now) {
                access = queue.erase(access);
                finished = now;
                ++completed;
            } else if (in_order) {
                break;
            } else {
                ++access;
            }
        }
        return completed;
    };
    auto feed = [&](std::deque<Waiting> &queue, bool write) {
        while (!queue.empty() && queue.front().arrival <= now) {
            Waiting &front = queue.front();
            const uint64_t address = (trace[front.access] & ~kWrite) + front.accepted * burst_bytes;
            if (!memory->WillAcceptTransaction(address, write)) return;
            if (!write) reads_at.emplace(address, front.access);
            memory->AddTransaction(address, write);
            if (++front.accepted < bursts) continue;
            if (write) ready[front.access] = now + write_response;
            queue.pop_front();
        }
    };

    size_t next = 0, done = 0;
    while (done < trace.size()) {
        done += complete(reads, ordered);
        done += complete(writes, true);
        while (next < trace.size() && next - done < outstanding) {
            const bool write = trace[next] & kWrite;
            std::deque<size_t> &queue = write ? writes : reads;
            if (queue.size() == each) break;
            queue.push_back(next);
            (write ? to_write : to_read).push_back({next, now + request, 0});
            ++next;
        }
        feed(to_read, false);
        feed(to_write, true);
        memory->ClockTick();
        ++now;
    }
    std::printf("%llu\n", static_cast<unsigned long long>(finished));
    return 0;
}
