// A list and a map of the standard library in memory that is shared with a kernel: shared_map KERNEL_FOLDER
//
// The kernel list_sum follows a std::forward_list by the program's own pointers and raises its values, while the
// program changes other words of the same nodes, which it finds through a std::map in the same memory. Nothing is
// copied, and no call moves anything.
#include <cstdint>
#include <forward_list>
#include <iostream>
#include <map>
#include <tombolo.hpp>

namespace {

// With the pointer that std::forward_list puts in front of it, a node as kernels/list_sum knows it: 64 bytes.
struct Item {
    std::uint64_t value;
    std::uint64_t seen;  // the program's; the kernel leaves it alone
    std::uint64_t rest[5];
};

template <typename K, typename V>
using SharedMap = std::map<K, V, std::less<K>, tombolo::Allocator<std::pair<const K, V>>>;
using SharedList = std::forward_list<Item, tombolo::Allocator<Item>>;

// The kernel writes here too, behind the compiler's back.
std::uint64_t read(const std::uint64_t &word) { return *const_cast<const volatile std::uint64_t *>(&word); }

// A node begins with its pointer to the next one.
const void *node_of(const Item &item) { return reinterpret_cast<const char *>(&item) - sizeof(void *); }

bool expect(const char *what, std::uint64_t is, std::uint64_t should) {
    if (is != should) std::cerr << what << " is " << is << " and not " << should << '\n';
    return is == should;
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " KERNEL_FOLDER\n";
        return 2;
    }
    const std::uint64_t count = 300, raise = 1000;
    auto card = tombolo::Card::functional();
    auto space = card.create_space();
    auto memory = space.alloc(1 << 20, 4096);
    tombolo::Pool pool(memory);
    auto slot = card.load(0, argv[1], space);

    SharedList list{tombolo::Allocator<Item>(pool)};
    SharedMap<std::uint64_t, Item *> index{tombolo::Allocator<std::pair<const std::uint64_t, Item *>>(pool)};
    for (std::uint64_t n = 0; n < count; n++) {
        list.push_front(Item{n, 0, {}});
        index[n * n] = &list.front();
    }
    auto *result = static_cast<std::uint64_t *>(pool.allocate(64));

    slot.set_pointer("head", node_of(list.front()));
    slot.set_pointer("output", result);
    slot.set("add", raise);
    slot.start();
    // Concurrently: the map is searched, and words next to the kernel's are written.
    for (std::uint64_t n = 0; n < count; n++) index.at(n * n)->seen = n + 1;
    slot.wait();
    bool good = expect("the sum", read(result[0]), count * (count - 1) / 2);
    good = good && expect("the count", read(result[1]), count);

    // The containers are as they were, but for what the kernel has done.
    for (std::uint64_t n = 0; n < count && good; n++) {
        const Item &item = *index.at(n * n);
        good = expect("a value", read(item.value), n + raise) && expect("a mark", read(item.seen), n + 1);
    }
    // A node that the program takes out is out, and its memory is used again.
    list.pop_front();
    index.erase((count - 1) * (count - 1));
    slot.set("add", 0);
    slot.set_pointer("head", node_of(list.front()));
    slot.start();
    slot.wait();
    good = good && expect("the count", read(result[1]), count - 1);
    if (good) std::cout << count << " nodes of a list and a map, as the kernel and the program left them\n";
    return good ? 0 : 1;
} catch (const tombolo::Error &error) {
    std::cerr << tmb_status_name(error.status()) << ": " << error.what() << '\n';
    return 1;
}
