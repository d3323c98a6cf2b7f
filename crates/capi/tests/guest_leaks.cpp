// Leaks of closed cards, as guest_leaks.c, with C++ objects that are destroyed in every order.
#include <tombolo.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

static int entries(const char *folder) {
    int count = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        (void)entry;
        count++;
    }
    return count;
}

static long resident() {
    long all = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    return pages * 4096;
}

struct Things {
    std::optional<tombolo::Card> card = tombolo::Card::functional();
    std::optional<tombolo::AddressSpace> space = card->create_space();
    std::optional<tombolo::Mapping> mapping;
    std::optional<tombolo::Slot> slot;

    Things(const char *kernel, const char *file)
        : mapping(space->map_read(file)), slot(card->load(0, kernel, *space)) {}

    void end(int what) {
        switch (what) {
        case 0: card.reset(); break;
        case 1: space.reset(); break;
        case 2: mapping.reset(); break;
        default: slot.reset();
        }
    }
};

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int count = std::atoi(argv[3]), descriptors = 0, threads = 0;
    long bytes = 0;
    for (int n = 0; n < count; n++) {
        {
            Things things(argv[1], argv[2]);
            int left[4] = {0, 1, 2, 3}, number = n;
            for (int rest = 4; rest > 0; rest--) {
                int at = number % rest;
                number /= rest;
                things.end(left[at]);
                left[at] = left[rest - 1];
            }
        }
        if (n == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            descriptors = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
        if (n == count / 5)
            bytes = resident();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::printf("%d descriptors, %d threads, %ld bytes an open\n", entries("/proc/self/fd") - descriptors,
                entries("/proc/self/task") - threads, (resident() - bytes) / (count - count / 5));
}
