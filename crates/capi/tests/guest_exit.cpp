// Handles that end with the process: in an atexit handler, in the destructor of a static object, and in that of a
// thread-local one. Kernel folder "copy", an input of 4096 bytes, and an output.
#include <tombolo.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

static const char *kernel;

static void expect(bool good, const char *what) {
    if (!good) {
        std::fprintf(stderr, "%s: %s\n", what, tmb_last_error());
        std::_Exit(3);
    }
}

// Errors are reported there, too.
static void expect_errors() {
    tmb_space *space = nullptr;
    expect(tmb_space_create(nullptr, nullptr, &space) == TMB_ERROR_HANDLE, "a null card");
    expect(std::strstr(tmb_last_error(), "null pointer") != nullptr, "its text");
}

struct Handles {
    tmb_card *card = nullptr;
    tmb_space *space = nullptr;
    tmb_slot *slot = nullptr;

    void open() {
        expect(tmb_card_open_functional(nullptr, &card) == TMB_OK, "card");
        expect(tmb_space_create(card, nullptr, &space) == TMB_OK, "space");
        expect(tmb_slot_load(card, 0, kernel, space, &slot) == TMB_OK, "slot");
    }
    void close() {
        expect_errors();
        expect(tmb_slot_close(slot) == TMB_OK, "closing the slot");
        expect(tmb_space_close(space) == TMB_OK, "closing the space");
        expect(tmb_card_close(card) == TMB_OK, "closing the card");
        open(); // A whole card fits into a destructor.
        expect(tmb_card_close(card) == TMB_OK, "closing the card");
        expect(tmb_slot_close(slot) == TMB_OK && tmb_space_close(space) == TMB_OK, "what it had");
    }
};

struct Closes {
    Handles handles;
    ~Closes() { handles.close(); }
};

// Everything of the C++ interface, with bytes that are written back by destructors.
struct Lab {
    tombolo::Card card = tombolo::Card::functional();
    tombolo::AddressSpace space = card.create_space();
    tombolo::Mapping in, out;
    tombolo::Slot slot;
    Lab(const char *from, const char *to)
        : in(space.map_read(from)), out(space.map_new(to, 4096)), slot(card.load(0, kernel, space)) {}
};

static Handles at_exit;

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    kernel = argv[1];
    std::atexit([] { at_exit.close(); });
    at_exit.open();
    std::thread([] {
        static thread_local Closes closes;
        closes.handles.open();
        expect_errors();
    }).join();
    static thread_local Closes of_the_first;
    of_the_first.handles.open();
    static Lab lab(argv[2], argv[3]);
    lab.slot.set("input", lab.in);
    lab.slot.set("output", lab.out);
    lab.slot.set("bytes", std::uint64_t(4096));
    lab.slot.start();
    lab.slot.wait();
    return 0;
}
