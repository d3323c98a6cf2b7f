// Buffers: what is on which side, parts, user pointers, copies, flags, and what is refused. argv: vadd.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <unistd.h>

#include "check.h"
#include "xrt/experimental/xrt_kernel.h"

namespace {

using words = std::vector<std::uint32_t>;

words numbers(std::size_t count, std::uint32_t seed) {
    words made(count);
    for (std::size_t i = 0; i < count; ++i) {
        made[i] = static_cast<std::uint32_t>(i) * 2654435761u + seed;
    }
    return made;
}

} // namespace

int main(int, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        REFUSED(ENODEV, "load_xclbin first", xrt::bo(device, 64, 0));
        auto uuid = device.load_xclbin(argv[1]);
        xrt::kernel vadd(device, uuid, "vadd");
        const std::size_t count = 5003, bytes = 4 * count;
        const auto left = numbers(count, 1), right = numbers(count, 7);

        xrt::bo a(device, bytes, vadd.group_id(0)), b(device, bytes, vadd.group_id(1)), c(device, bytes, vadd.group_id(2));
        EXPECT(a.size() == bytes && a.address() != 0 && a.address() != b.address());
        EXPECT(a.get_flags() == xrt::bo::flags::normal);
        EXPECT(a.get_memory_group() == static_cast<xrt::memory_group>(vadd.group_id(0)));
        const xrt::bo same = a;
        EXPECT(same == a && a != b && (a < b || b < a) && !xrt::bo());
        EXPECT(same.map<const std::uint32_t *>() == a.map<std::uint32_t *>());

        // Host and card are two copies until sync.
        a.write(left.data());
        b.write(right.data(), bytes, 0);
        words seen(count, 9);
        c.write(seen.data());
        c.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        vadd(a, b, c, count).wait();
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        c.read(seen.data());
        EXPECT(seen == words(count, 0)); // the card had zeroes

        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        b.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes, 0);
        vadd(a, b, c, count).wait();
        c.read(seen.data());
        EXPECT(seen == words(count, 0)); // the sums have not been synchronized yet
        // A part of them; it need not begin at a page.
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 4000, 1004);
        c.read(seen.data());
        for (std::size_t i = 0; i < count; ++i) {
            const bool fetched = i >= 251 && i < 1251;
            EXPECT(seen[i] == (fetched ? left[i] + right[i] : 0));
        }
        c.async(XCL_BO_SYNC_BO_FROM_DEVICE).wait();
        c.read(seen.data());
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT(seen[i] == left[i] + right[i]);
        }

        // Parts of a buffer share its bytes on both sides.
        xrt::bo part(a, 4 * 100, 4 * 48);
        EXPECT(part.size() == 400 && part.address() == a.address() + 192);
        EXPECT(part.map<std::uint32_t *>() == a.map<std::uint32_t *>() + 48);
        part.map<std::uint32_t *>()[0] = 77;
        part.sync(XCL_BO_SYNC_BO_TO_DEVICE, 4, 0);
        xrt::bo sums(c, 4 * 16, 0);
        vadd(part, xrt::bo(b, 64, 0), sums, 16u).wait(); // 64 bits of the length: the rest is zero
        sums.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(c.map<std::uint32_t *>()[0] == 77 + right[0]);
        EXPECT(c.map<std::uint32_t *>()[15] == left[63] + right[15]);

        // Memory of the program as the host's copy.
        std::unique_ptr<void, decltype(&std::free)> own(std::aligned_alloc(4096, 4096 * 5), &std::free);
        std::memcpy(own.get(), left.data(), bytes);
        xrt::bo user(device, own.get(), bytes, vadd.group_id(0));
        EXPECT(user.map() == own.get());
        user.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        vadd(user, b, c, count).wait();
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(c.map<std::uint32_t *>()[count - 1] == left[count - 1] + right[count - 1]);
        auto odd = static_cast<char *>(own.get()) + 64;
        REFUSED(EINVAL, "aligned to 4096", xrt::bo(device, odd, 64, vadd.group_id(0)));
        REFUSED(EINVAL, "aligned to 4096", xrt::bo(device, static_cast<void *>(nullptr), 64, vadd.group_id(0)));

        // On the card alone, and from buffer to buffer there.
        xrt::bo there(device, bytes, xrt::bo::flags::device_only, vadd.group_id(0));
        REFUSED(EINVAL, "device_only", there.map());
        there.write(right.data());
        seen.assign(count, 0);
        there.read(seen.data(), 40, 400);
        EXPECT(seen[0] == right[100] && seen[9] == right[109] && seen[10] == 0);
        vadd(there, b, c, count).wait();
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(c.map<std::uint32_t *>()[3] == right[3] + right[3]);
        a.copy(there);
        a.copy(b, 40, 80, 120);
        EXPECT(a.map<std::uint32_t *>()[30] == left[30]); // the host's copy is as it was
        a.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(a.map<std::uint32_t *>()[29] == right[29] && a.map<std::uint32_t *>()[30] == right[20]);
        EXPECT(a.map<std::uint32_t *>()[39] == right[29] && a.map<std::uint32_t *>()[40] == right[40]);

        // On the card, and mapped: one copy.
        xrt::bo peer(device, bytes, xrt::bo::flags::p2p, vadd.group_id(0));
        std::memcpy(peer.map(), left.data(), bytes);
        vadd(peer, b, c, count).wait();
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(c.map<std::uint32_t *>()[count - 1] == left[count - 1] + right[count - 1]);

        // System calls reach it, if userfaultfd is permitted (docs/environment.md): sums to a file, and from it.
        xrt::bo summed(device, bytes, xrt::bo::flags::p2p, vadd.group_id(2));
        vadd(peer, b, summed, count).wait();
        std::FILE *const file = std::tmpfile();
        const auto whole = static_cast<ssize_t>(bytes);
        const ssize_t written = pwrite(fileno(file), summed.map(), bytes, 0);
        EXPECT(written == whole || (written == -1 && errno == EFAULT && geteuid() != 0));
        if (written == whole) {
            seen.assign(count, 0);
            EXPECT(pread(fileno(file), seen.data(), bytes, 0) == whole && seen[count - 1] == left[count - 1] + right[count - 1]);
            xrt::bo fresh(device, bytes, xrt::bo::flags::p2p, vadd.group_id(0));
            EXPECT(pread(fileno(file), fresh.map(), bytes, 0) == whole);
            vadd(fresh, b, c, count).wait();
            c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
            EXPECT(c.map<std::uint32_t *>()[count - 1] == left[count - 1] + 2 * right[count - 1]);
        }
        std::fclose(file);

        // In the host alone, on a card whose kernels have no way there: the source and the target of copies.
        xrt::bo near(device, bytes, xrt::bo::flags::host_only, vadd.group_id(0));
        std::memcpy(near.map(), left.data(), bytes);
        there.copy(near);
        vadd(there, b, c, count).wait();
        near.copy(c);
        EXPECT(near.map<std::uint32_t *>()[count - 1] == left[count - 1] + right[count - 1]);
        REFUSED(EINVAL, "link the kernel with sp=UNIT.a:HOST[0]", vadd(near, b, c, count));

        // By a handle: the same buffer, as long as one of its objects is there.
        xrt::bo own_bo(device, 64, vadd.group_id(0));
        const xrt::bo::export_handle exported = own_bo.export_buffer();
        const int copied = dup(exported);
        close(exported);
        xrt::bo imported(device, copied);
        imported.map<std::uint32_t *>()[3] = 1234;
        EXPECT(own_bo.map<std::uint32_t *>()[3] == 1234 && imported.address() == own_bo.address());
        own_bo = xrt::bo();
        EXPECT(imported.map<std::uint32_t *>()[3] == 1234);
        imported = xrt::bo();
        REFUSED(EINVAL, "of no bo of this process", xrt::bo(device, copied));
        close(copied);

        // Refused calls.
        REFUSED(EINVAL, "of no bo of this process", xrt::bo(device, xrt::bo::export_handle(0)));
        REFUSED(EINVAL, "of no bo of this process", xrt::bo(device, xrt::bo::export_handle(-1)));
        REFUSED(EINVAL, "not in its", a.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes, 1));
        REFUSED(EINVAL, "not in its", a.sync(XCL_BO_SYNC_BO_TO_DEVICE, ~std::size_t(0), 2));
        REFUSED(EINVAL, "AI engines", a.sync(XCL_BO_SYNC_BO_GMIO_TO_AIE));
        REFUSED(EINVAL, "not in its", a.write(left.data(), 8, bytes - 4));
        REFUSED(EINVAL, "not in its", a.read(seen.data(), 8, bytes - 4));
        REFUSED(EINVAL, "not in its", a.copy(b, 0, 0, 0));
        REFUSED(EINVAL, "not in its", a.copy(b, 8, bytes - 4, 0));
        REFUSED(EINVAL, "sub-buffer", xrt::bo(a, 8, bytes - 4));
        REFUSED(EINVAL, "at least one byte", xrt::bo(device, 0, vadd.group_id(0)));
        REFUSED(EINVAL, "memory group", xrt::bo(device, 64, 1000));
        REFUSED(EINVAL, "has 17179869184 bytes", xrt::bo(device, (std::size_t(1) << 34) + 1, vadd.group_id(0)));
        const auto both = static_cast<xrt::bo::flags>(3u << 29);
        REFUSED(EINVAL, "give one of", xrt::bo(device, 64, both, vadd.group_id(0)));
    });
}
