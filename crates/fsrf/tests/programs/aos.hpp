// A client of FSRF's socket, as programs have it in their own tree: the documented messages and names, written by us.
// The socket is AOS_SOCKET's of the environment here, so that tests run side by side.
#pragma once

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum class aos_message : uint32_t {
    read = 0,
    write = 2,
    open = 4,
    close = 6,
    mmap = 8,
    munmap = 10,
    msync = 12,
    set_mode = 14,
};

enum class aos_errcode { SUCCESS, RETRY, ALIGNMENT_FAILURE, PROTECTION_FAILURE, APP_DOES_NOT_EXIST, TIMEOUT, UNKNOWN_FAILURE };

// Messages about registers begin with the slot; built with AOS_STREAM, as on FSRF's branch `stream`, all do.
struct aos_of_slot { uint64_t slot, app; };
#ifdef AOS_STREAM
using aos_of_app = aos_of_slot;
#else
struct aos_of_app { uint64_t app; };
#endif
struct aos_read { aos_of_slot of; uint64_t addr; };
struct aos_write { aos_of_slot of; uint64_t addr, value; };
struct aos_open { aos_of_app of; char path[PATH_MAX]; };
struct aos_close { aos_of_app of; int fd; };
struct aos_map { aos_of_app of; void *addr; uint64_t length; int prot, flags, fd; uint64_t offset; };
struct aos_unmap { aos_of_app of; void *addr; uint64_t length; };
struct aos_sync { aos_of_app of; void *addr; uint64_t length; int flags; };
struct aos_mode { aos_of_app of; uint64_t mode, data; };

class aos_client {
public:
    void set_slot_id(uint64_t id) { slot = id; }
    void set_app_id(uint64_t id) { app = id; }
    bool connected() const { return socket >= 0; }

    bool connect() {
        const char *path = getenv("AOS_SOCKET");
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        strncpy(address.sun_path, path ? path : "/tmp/aos_daemon.socket", sizeof address.sun_path - 1);
        socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
        if (::connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
            return true;
        disconnect();
        return false;
    }

    void disconnect() {
        if (connected())
            close(socket);
        socket = -1;
    }

    aos_errcode aos_cntrlreg_read(uint64_t addr, uint64_t &value) {
        send(aos_message::read, aos_read{{slot, app}, addr});
        receive(value);
        return aos_errcode::SUCCESS;
    }
    aos_errcode aos_cntrlreg_write(uint64_t addr, uint64_t value) {
        send(aos_message::write, aos_write{{slot, app}, addr, value});
        return aos_errcode::SUCCESS;
    }
    aos_errcode aos_file_open(const char *path, int &fd) {
        aos_open message{};
        message.of = mine();
        // A file that does not exist yet has no real path.
        if (!realpath(path, message.path))
            strncpy(message.path, path, sizeof message.path - 1);
        send(aos_message::open, message);
        receive(fd);
        return aos_errcode::SUCCESS;
    }
    aos_errcode aos_file_close(int fd) {
        int result;
        send(aos_message::close, aos_close{mine(), fd});
        receive(result);
        return result == 0 ? aos_errcode::SUCCESS : aos_errcode::UNKNOWN_FAILURE;
    }
    aos_errcode aos_mmap(void *&addr, uint64_t length, int prot, int flags, int fd, uint64_t offset) {
        send(aos_message::mmap, aos_map{mine(), addr, length, prot, flags, fd, offset});
        receive(addr);
        return aos_errcode::SUCCESS;
    }
    aos_errcode aos_munmap(void *addr, uint64_t length) {
        send(aos_message::munmap, aos_unmap{mine(), addr, length});
        return aos_errcode::SUCCESS;
    }
    aos_errcode aos_msync(void *addr, uint64_t length, int flags) {
        send(aos_message::msync, aos_sync{mine(), addr, length, flags});
        return aos_errcode::SUCCESS;
    }
    aos_errcode aos_set_mode(uint64_t mode, uint64_t data) {
        send(aos_message::set_mode, aos_mode{mine(), mode, data});
        return aos_errcode::SUCCESS;
    }

    template <typename T> void send(aos_message kind, const T &message) {
        put(&kind, sizeof kind);
        put(&message, sizeof message);
    }

private:
    uint64_t slot = 0, app = 0;

    aos_of_app mine() const {
#ifdef AOS_STREAM
        return {slot, app};
#else
        return {app};
#endif
    }
    int socket = -1;

    [[noreturn]] static void lost() {
        fprintf(stderr, "the connection is lost\n");
        exit(3);
    }
    void put(const void *bytes, size_t count) {
        if (::send(socket, bytes, count, MSG_NOSIGNAL) != static_cast<ssize_t>(count))
            lost();
    }
    template <typename T> void receive(T &value) {
        if (recv(socket, &value, sizeof value, MSG_WAITALL) != sizeof value)
            lost();
    }
};
