// Tombolo for C++17: the handles of tombolo.h as objects, its statuses as exceptions.
//
// A destructor closes its handle; unmap() and close() do so earlier and report errors. Objects
// are movable, not copyable. Objects of a space or a card end with it, so declare card, space, mappings and
// slots in that order.
#ifndef TOMBOLO_HPP
#define TOMBOLO_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tombolo.h"

namespace tombolo {

/// An error of the library.
class Error : public std::runtime_error {
public:
    Error(tmb_status status, const std::string &text, int number)
        : std::runtime_error(text), status_(status), number_(number) {}

    /// One of TMB_ERROR_...
    tmb_status status() const noexcept { return status_; }
    /// The errno, or 0.
    int number() const noexcept { return number_; }

private:
    tmb_status status_;
    int number_;
};

/// Throws if a status is not TMB_OK.
inline void check(tmb_status status) {
    if (status != TMB_OK) throw Error(status, tmb_last_error(), tmb_last_errno());
}

namespace detail {

/// A handle and the call that closes it.
template <typename T, tmb_status (*Close)(T *)>
class Handle {
public:
    Handle() = default;
    explicit Handle(T *handle) noexcept : handle_(handle) {}
    Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            drop();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { drop(); }

    /// The handle; this object keeps the ownership.
    T *get() const noexcept { return handle_; }
    /// Releases the handle: the caller must close it.
    T *release() noexcept { return std::exchange(handle_, nullptr); }
    /// Closes it now.
    void close() {
        T *handle = std::exchange(handle_, nullptr);
        if (handle != nullptr) check(Close(handle));
    }
    /// Closes it now; if that is refused, it stays open.
    void close_or_keep() {
        if (handle_ != nullptr) check(Close(handle_));
        handle_ = nullptr;
    }

private:
    void drop() noexcept {
        if (handle_ != nullptr) Close(handle_);
    }
    T *handle_ = nullptr;
};

}  // namespace detail

/// A range of a space, backed by a range of a file.
class Mapping {
public:
    explicit Mapping(tmb_mapping *handle) noexcept : handle_(handle) {}
    /// Address of the first byte in the kernel's space.
    std::uint64_t address() const {
        std::uint64_t value = 0;
        check(tmb_mapping_address(handle_.get(), &value));
        return value;
    }
    /// Size of the mapping in bytes.
    std::uint64_t bytes() const {
        std::uint64_t value = 0;
        check(tmb_mapping_bytes(handle_.get(), &value));
        return value;
    }
    /// Writes back the kernel's data so far.
    void sync() { check(tmb_mapping_sync(handle_.get())); }
    /// Prefetches pages to the card.
    void prefetch() { check(tmb_mapping_prefetch(handle_.get())); }
    /// Preloads pages onto a simulated card (zero-cost in virtual time); returns the number of bytes.
    std::uint64_t make_hot()
    {
        std::uint64_t bytes = 0;
        check(tmb_mapping_make_hot(handle_.get(), &bytes));
        return bytes;
    }
    /// Writes back and ends the mapping.
    void unmap() { handle_.close(); }
    tmb_mapping *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<tmb_mapping, tmb_mapping_unmap> handle_;
};

/// Memory that the program and the kernels of a space read and write at the same addresses; see tmb_memory_alloc.
class Memory {
public:
    Memory(tmb_memory *handle, std::size_t bytes) : handle_(handle), bytes_(bytes) {
        check(tmb_memory_pointer(handle_.get(), &start_));
    }
    /// Address of the first byte.
    void *data() const noexcept { return start_; }
    /// Requested size in bytes.
    std::size_t bytes() const noexcept { return bytes_; }
    /// Ends the sharing. TMB_ERROR_MEMORY_IN_USE while a kernel of the space runs: the memory stays shared.
    void free() { handle_.close_or_keep(); }

private:
    detail::Handle<tmb_memory, tmb_memory_free> handle_;
    void *start_ = nullptr;
    std::size_t bytes_ = 0;
};

/// A pool of shared memory for tombolo::Allocator. Pieces are multiples of 64 bytes, and
/// aligned to 64, so no two of them share a row. Its metadata is in ordinary memory, so its own accesses are never
/// trapped. Thread-safe. It must outlive its allocations.
class Pool {
public:
    explicit Pool(const Memory &memory) noexcept
        : next_(static_cast<char *>(memory.data())), end_(next_ + memory.bytes()) {}
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    /// Throws std::bad_alloc if the pool is full.
    void *allocate(std::size_t bytes) {
        std::lock_guard<std::mutex> lock(mutex_);
        bytes = rounded(bytes);
        auto free = free_.find(bytes);
        if (free != free_.end() && !free->second.empty()) {
            void *piece = free->second.back();
            free->second.pop_back();
            return piece;
        }
        if (bytes > static_cast<std::size_t>(end_ - next_)) throw std::bad_alloc();
        return std::exchange(next_, next_ + bytes);
    }
    /// Returns the piece to the pool; it is reused for requests of the same size.
    void deallocate(void *piece, std::size_t bytes) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        try {
            free_[rounded(bytes)].push_back(piece);
        } catch (...) {
            // No memory for the free list: the piece is not reused.
        }
    }

private:
    static std::size_t rounded(std::size_t bytes) {
        if (bytes > static_cast<std::size_t>(-1) - 63) throw std::bad_alloc();
        return bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
    }
    std::mutex mutex_;
    char *next_;
    char *end_;
    std::map<std::size_t, std::vector<void *>> free_;
};

/// An allocator for containers: std::map<K, V, std::less<K>, tombolo::Allocator<std::pair<const K, V>>> lives in
/// shared memory, and kernels can access its nodes.
template <typename T>
class Allocator {
public:
    using value_type = T;
    static_assert(alignof(T) <= 64, "pieces of a Pool are aligned to 64");

    explicit Allocator(Pool &pool) noexcept : pool_(&pool) {}
    template <typename U>
    Allocator(const Allocator<U> &other) noexcept : pool_(other.pool()) {}
    T *allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
        return static_cast<T *>(pool_->allocate(count * sizeof(T)));
    }
    void deallocate(T *piece, std::size_t count) noexcept { pool_->deallocate(piece, count * sizeof(T)); }
    Pool *pool() const noexcept { return pool_; }
    template <typename U>
    bool operator==(const Allocator<U> &other) const noexcept {
        return pool_ == other.pool();
    }
    template <typename U>
    bool operator!=(const Allocator<U> &other) const noexcept {
        return pool_ != other.pool();
    }

private:
    Pool *pool_;
};

/// Coherent lines at an ordinary address; see tmb_coherent_map.
class CoherentMap {
public:
    explicit CoherentMap(tmb_coherent_map *handle) noexcept : handle_(handle) {}
    /// Address of the first byte; valid during the lifetime of this object.
    void *data() const {
        void *pointer = nullptr;
        check(tmb_coherent_map_pointer(handle_.get(), &pointer));
        return pointer;
    }
    /// Revokes all pages.
    void sync() { check(tmb_coherent_map_sync(handle_.get())); }

private:
    detail::Handle<tmb_coherent_map, tmb_coherent_map_close> handle_;
};

/// A line of coherent memory.
using Line = std::array<std::uint8_t, TMB_LINE_BYTES>;

/// An outstanding access; see tmb_access. Without wait() it still completes, without a report.
class PendingLine {
public:
    explicit PendingLine(tmb_access *handle) noexcept : handle_(handle) {}
    /// Waits, once: the line after the access.
    Line wait() {
        Line line;
        check(tmb_access_wait(handle_.release(), line.data()));
        return line;
    }

private:
    detail::Handle<tmb_access, tmb_access_close> handle_;
};

/// A core's write buffer; see tmb_write_buffer. Stores are in their lines after fence() or close().
class WriteBuffer {
public:
    explicit WriteBuffer(tmb_write_buffer *handle) noexcept : handle_(handle) {}
    /// Stores bytes that lie in one line.
    void store(std::uint64_t offset, const void *bytes, std::size_t count) {
        check(tmb_write_buffer_store(handle_.get(), offset, bytes, count));
    }
    /// Writes the line back and invalidates it, after the stores to it.
    void flush(std::uint64_t offset) { check(tmb_write_buffer_flush(handle_.get(), offset)); }
    /// Waits until all stores are in their lines.
    void fence() { check(tmb_write_buffer_fence(handle_.get())); }
    void close() { handle_.close(); }

private:
    detail::Handle<tmb_write_buffer, tmb_write_buffer_close> handle_;
};

/// Calls to the kernel rpc; see tmb_rpc.
class Rpc {
public:
    explicit Rpc(tmb_rpc *handle) noexcept : handle_(handle) {}
    /// Calls with up to 128 bytes of arguments; returns the line of the result.
    Line call(const void *arguments, std::size_t count) {
        Line line;
        check(tmb_rpc_call(handle_.get(), arguments, count, line.data()));
        return line;
    }
    /// Starts a call; the line of the access is the result.
    PendingLine begin_call(const void *arguments, std::size_t count) {
        tmb_access *access = nullptr;
        check(tmb_rpc_begin_call(handle_.get(), arguments, count, &access));
        return PendingLine(access);
    }

private:
    detail::Handle<tmb_rpc, tmb_rpc_close> handle_;
};

/// Calls of many lines to the kernel rpc_lines; see tmb_rpc_lines.
class RpcLines {
public:
    explicit RpcLines(tmb_rpc_lines *handle) noexcept : handle_(handle) {}
    /// Fetches the first lines of the next request.
    void prepare(std::uint64_t lines) { check(tmb_rpc_lines_prepare(handle_.get(), lines)); }
    /// Calls with these bytes, and reads as many lines of the answer as fit into `answer`, a multiple of 128 bytes.
    tmb_lines_answer call(const void *payload, std::size_t count, std::vector<std::uint8_t> &answer) {
        tmb_lines_answer about;
        check(tmb_rpc_lines_call(handle_.get(), payload, count, answer.data(), answer.size() / TMB_LINE_BYTES, &about));
        return about;
    }

private:
    detail::Handle<tmb_rpc_lines, tmb_rpc_lines_close> handle_;
};

/// Addresses behind the directory of a coherent card, used by a core of its CPU; see tmb_coherent_open.
class CoherentMemory {
public:
    using Line = tombolo::Line;

    explicit CoherentMemory(tmb_coherent *handle) noexcept : handle_(handle) {}
    /// Loads the line at a multiple of 128.
    Line load(std::uint64_t offset) { return loaded(offset, 0); }
    /// Loads it exclusively, for this CPU alone.
    Line load_exclusive(std::uint64_t offset) { return loaded(offset, 1); }
    /// Stores bytes that lie in one line.
    void store(std::uint64_t offset, const void *bytes, std::size_t count) {
        check(tmb_coherent_store(handle_.get(), offset, bytes, count));
    }
    /// A hint that the line will be loaded.
    void prefetch(std::uint64_t offset) { check(tmb_coherent_prefetch(handle_.get(), offset)); }
    void flush(std::uint64_t offset) { check(tmb_coherent_flush(handle_.get(), offset)); }
    void clean(std::uint64_t offset) { check(tmb_coherent_clean(handle_.get(), offset)); }
    /// Starts a load; a core may have many outstanding accesses.
    PendingLine begin_load(std::uint64_t offset, bool exclusive = false) {
        tmb_access *access = nullptr;
        check(tmb_coherent_begin_load(handle_.get(), offset, exclusive ? 1 : 0, &access));
        return PendingLine(access);
    }
    /// Starts a store.
    PendingLine begin_store(std::uint64_t offset, const void *bytes, std::size_t count) {
        tmb_access *access = nullptr;
        check(tmb_coherent_begin_store(handle_.get(), offset, bytes, count, &access));
        return PendingLine(access);
    }
    /// A write buffer of this core, empty.
    WriteBuffer write_buffer() {
        tmb_write_buffer *buffer = nullptr;
        check(tmb_write_buffer_open(handle_.get(), &buffer));
        return WriteBuffer(buffer);
    }
    /// Uses the two lines of a context for calls to the kernel rpc; see tmb_rpc_connect.
    Rpc rpc(std::uint32_t context = 0, bool push = false) {
        tmb_rpc *rpc = nullptr;
        check(tmb_rpc_connect(handle_.get(), context, push ? 1 : 0, &rpc));
        return Rpc(rpc);
    }
    /// Uses the memory for calls to the kernel rpc_lines.
    RpcLines rpc_lines() {
        tmb_rpc_lines *rpc = nullptr;
        check(tmb_rpc_lines_connect(handle_.get(), &rpc));
        return RpcLines(rpc);
    }
    /// Maps the lines at an ordinary address; see tmb_coherent_map.
    CoherentMap map(bool write = true, bool eager = false) {
        tmb_coherent_map *map = nullptr;
        check(tmb_coherent_map_open(handle_.get(), write ? 1 : 0, eager ? 1 : 0, &map));
        return CoherentMap(map);
    }

private:
    Line loaded(std::uint64_t offset, int exclusive) {
        Line line;
        check(tmb_coherent_load(handle_.get(), offset, exclusive, line.data()));
        return line;
    }
    detail::Handle<tmb_coherent, tmb_coherent_close> handle_;
};

/// The address space of one application's ports.
class AddressSpace {
public:
    explicit AddressSpace(tmb_space *handle) noexcept : handle_(handle) {}
    /// Maps a file; see tmb_map_options.
    Mapping map(const std::string &path, const tmb_map_options &options) {
        tmb_mapping *mapping = nullptr;
        check(tmb_map_file(handle_.get(), path.c_str(), &options, &mapping));
        return Mapping(mapping);
    }
    /// Maps a whole file for reading.
    Mapping map_read(const std::string &path) {
        tmb_map_options options = TMB_MAP_OPTIONS;
        return map(path, options);
    }
    /// Creates a file of zeroes and maps it for reading and writing.
    Mapping map_new(const std::string &path, std::uint64_t bytes) {
        tmb_map_options options = TMB_MAP_OPTIONS;
        options.create = 1;
        options.create_bytes = bytes;
        return map(path, options);
    }
    /// Zeroed memory for the program and the kernels of the space; page_size as for tmb_memory_alloc.
    Memory alloc(std::size_t bytes, std::uint64_t page_size = 0) {
        tmb_memory *memory = nullptr;
        check(tmb_memory_alloc(handle_.get(), bytes, page_size, &memory));
        return Memory(memory, bytes);
    }
    /// The same for memory that can be passed to system calls; see tmb_memory_alloc_for_calls.
    Memory alloc_for_calls(std::size_t bytes, bool *in_calls = nullptr) {
        tmb_memory *memory = nullptr;
        int works = 0;
        check(tmb_memory_alloc_for_calls(handle_.get(), bytes, 0, &memory, &works));
        if (in_calls != nullptr) *in_calls = works != 0;
        return Memory(memory, bytes);
    }
    /// The same with a trap mechanism of tmb_traps; see tmb_memory_alloc_with_traps.
    Memory alloc_with_traps(std::size_t bytes, tmb_traps traps, std::uint64_t page_size = 0,
                            tmb_traps *taken = nullptr) {
        tmb_memory *memory = nullptr;
        int way = 0;
        check(tmb_memory_alloc_with_traps(handle_.get(), bytes, page_size, traps, &memory, &way));
        if (taken != nullptr) *taken = static_cast<tmb_traps>(way);
        return Memory(memory, bytes);
    }
    /// Zeroed memory that stays in the host; see tmb_memory_alloc_direct.
    Memory alloc_direct(std::size_t bytes, std::uint64_t page_size = 0) {
        tmb_memory *memory = nullptr;
        check(tmb_memory_alloc_direct(handle_.get(), bytes, page_size, &memory));
        return Memory(memory, bytes);
    }
    /// Shares existing memory in place; see tmb_memory_register.
    Memory share(void *start, std::size_t bytes, std::uint64_t page_size = 0) {
        tmb_memory *memory = nullptr;
        check(tmb_memory_register(handle_.get(), start, bytes, page_size, &memory));
        return Memory(memory, bytes);
    }
    tmb_space *get() const noexcept { return handle_.get(); }
    /// Writes back and ends the space with its mappings.
    void close() { handle_.close(); }

private:
    detail::Handle<tmb_space, tmb_space_close> handle_;
};

/// A slot with its kernel.
class Slot {
public:
    explicit Slot(tmb_slot *handle) noexcept : handle_(handle) {}
    /// Sets an argument of up to 8 bytes.
    void set(const std::string &argument, std::uint64_t value) {
        check(tmb_slot_set(handle_.get(), argument.c_str(), value));
    }
    /// Sets a pointer argument to a mapping of the kernel's space; a mapping of another space is an error.
    void set(const std::string &argument, const Mapping &mapping) {
        check(tmb_slot_set_mapping(handle_.get(), argument.c_str(), mapping.get()));
    }
    /// Sets a pointer argument to an address of shared memory.
    void set_pointer(const std::string &argument, const void *address) {
        set(argument, reinterpret_cast<std::uintptr_t>(address));
    }
    /// Sets an argument to exactly its bytes.
    void set(const std::string &argument, const void *value, std::size_t count) {
        check(tmb_slot_set_bytes(handle_.get(), argument.c_str(), value, count));
    }
    /// Sets the slot's share of card memory under contention.
    void set_schedule(const tmb_schedule_options &options) {
        check(tmb_slot_set_schedule(handle_.get(), &options));
    }
    void start() { check(tmb_slot_start(handle_.get())); }
    /// Waits until the kernel is done, or until the timeout in virtual time.
    void wait(std::uint64_t deadline_ps = 0) {
        tmb_wait_options options = TMB_WAIT_OPTIONS;
        options.deadline_ps = deadline_ps;
        check(tmb_slot_wait(handle_.get(), &options));
    }
    /// Waits until the bits of `mask` in a register equal those of `value`; see tmb_slot_wait_register. Returns the final value.
    std::uint32_t wait_register(std::uint32_t offset, std::uint32_t mask, std::uint32_t value,
                                std::uint64_t deadline_ps = 0) {
        std::uint32_t found = 0;
        check(tmb_slot_wait_register(handle_.get(), offset, mask, value, deadline_ps, &found));
        return found;
    }

    /// Waits for the interrupt of a kernel with its own registers; returns the number since the last wait.
    std::uint32_t wait_interrupt(std::uint64_t deadline_ps = 0) {
        std::uint32_t count = 0;
        check(tmb_slot_wait_interrupt(handle_.get(), deadline_ps, &count));
        return count;
    }

    std::uint32_t read_register(std::uint32_t offset) {
        std::uint32_t value = 0;
        check(tmb_slot_read_register(handle_.get(), offset, &value));
        return value;
    }
    void write_register(std::uint32_t offset, std::uint32_t value) {
        check(tmb_slot_write_register(handle_.get(), offset, value));
    }
    tmb_slot *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<tmb_slot, tmb_slot_close> handle_;
};

/// A card.
class Card {
public:
    /// Opens a card by its name; see tmb_card_open.
    static Card open(const std::string &name) {
        tmb_card *card = nullptr;
        check(tmb_card_open(name.c_str(), &card));
        return Card(card);
    }
    /// Opens a functional card: no RTL, no time, no tools.
    static Card functional(const tmb_card_options &options = TMB_CARD_OPTIONS) {
        tmb_card *card = nullptr;
        check(tmb_card_open_functional(&options, &card));
        return Card(card);
    }
    /// Opens a simulated card: the real shell RTL in virtual time.
    static Card simulated(const tmb_card_options &options = TMB_CARD_OPTIONS) {
        tmb_card *card = nullptr;
        check(tmb_card_open_simulated(&options, &card));
        return Card(card);
    }
    AddressSpace create_space(const tmb_space_options &options = TMB_SPACE_OPTIONS) {
        tmb_space *space = nullptr;
        check(tmb_space_create(handle_.get(), &options, &space));
        return AddressSpace(space);
    }
    /// Loads the kernel of a folder into the first empty slot.
    Slot load(const std::string &folder, const AddressSpace &space) {
        tmb_slot *slot = nullptr;
        check(tmb_slot_load_anywhere(handle_.get(), folder.c_str(), space.get(), &slot));
        return Slot(slot);
    }
    /// Loads the kernel of a folder into a slot.
    Slot load(std::uint32_t number, const std::string &folder, const AddressSpace &space) {
        tmb_slot *slot = nullptr;
        check(tmb_slot_load(handle_.get(), number, folder.c_str(), space.get(), &slot));
        return Slot(slot);
    }
    /// Waits until one of several kernels is done, or until the timeout in virtual time; returns its index.
    std::size_t wait_any(const std::vector<const Slot *> &slots, std::uint64_t deadline_ps = 0) {
        std::vector<tmb_slot *> handles;
        for (const Slot *slot : slots) handles.push_back(slot->get());
        std::size_t place = 0;
        check(tmb_card_wait_any(handle_.get(), handles.data(), handles.size(), deadline_ps, &place));
        return place;
    }
    /// Lines served by a kernel with home ports, used by a core; see tmb_coherent_open.
    CoherentMemory coherent_memory(std::uint64_t base, std::uint64_t bytes, std::uint32_t core = 0) {
        tmb_coherent *coherent = nullptr;
        check(tmb_coherent_open(handle_.get(), base, bytes, core, &coherent));
        return CoherentMemory(coherent);
    }
    /// Card memory instead of a kernel; see tmb_coherent_open_home.
    CoherentMemory home_memory(std::uint32_t core = 0) {
        tmb_coherent *coherent = nullptr;
        check(tmb_coherent_open_home(handle_.get(), core, &coherent));
        return CoherentMemory(coherent);
    }
    /// Report of the run, human-readable.
    std::string report() { return text(tmb_card_report); }
    /// The same as JSON.
    std::string report_json() { return text(tmb_card_report_json); }
    tmb_card *get() const noexcept { return handle_.get(); }

private:
    explicit Card(tmb_card *handle) noexcept : handle_(handle) {}
    std::string text(tmb_status (*call)(tmb_card *, char **)) {
        char *answer = nullptr;
        check(call(handle_.get(), &answer));
        std::string copy;
        try {
            copy = answer;
        } catch (...) {
            tmb_text_free(answer);
            throw;
        }
        tmb_text_free(answer);
        return copy;
    }
    detail::Handle<tmb_card, tmb_card_close> handle_;
};

}  // namespace tombolo

#endif
