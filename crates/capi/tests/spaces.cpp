/* A kernel of one space and a mapping of another, in C++: spaces KERNEL_FOLDER FILE. */
#include <tombolo.hpp>

#include <cstdio>
#include <string>

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    tombolo::Card card = tombolo::Card::functional();
    tombolo::AddressSpace own = card.create_space(), other = card.create_space();
    tombolo::Mapping mine = own.map_new(argv[2], 64), foreign = other.map_read(argv[2]);
    tombolo::Slot slot = card.load(0, argv[1], own);
    slot.set("input", mine);
    try {
        slot.set("input", foreign);
    } catch (const tombolo::Error &error) {
        if (std::string(error.what()).find("another address space") != std::string::npos) return 0;
        std::fprintf(stderr, "%s\n", error.what());
    }
    std::fprintf(stderr, "a mapping of another space was taken\n");
    return 1;
}
