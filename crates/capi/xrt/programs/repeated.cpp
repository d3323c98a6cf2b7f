// Runs that restart automatically, and their mailboxes. argv: one with vadd twice (left, right).
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "check.h"
#include "experimental/xrt_mailbox.h"
#include "xrt/xrt_kernel.h"

namespace {

const std::uint64_t count = 1500;

/* How many sums are 2 i + more. */
std::uint64_t right_sums(xrt::bo &sums, std::uint32_t more) {
    sums.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    auto values = sums.map<std::uint32_t *>();
    std::uint64_t found = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        found += values[i] == 2 * i + more;
    }
    return found;
}

} // namespace

int main(int, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        auto uuid = device.load_xclbin(argv[1]);
        xrt::kernel left(device, uuid, "vadd:{left}"), right(device, uuid, "vadd:{right}");
        auto bo = [&](std::uint32_t add) {
            xrt::bo made(device, 4 * count, left.group_id(0));
            for (std::uint32_t i = 0; i < count; ++i) {
                made.map<std::uint32_t *>()[i] = i + add;
            }
            made.sync(XCL_BO_SYNC_BO_TO_DEVICE);
            return made;
        };
        auto out = [&] { return xrt::bo(device, 4 * count, left.group_id(2)); };
        xrt::bo a = bo(1), b = bo(0), other = bo(70), first = out(), second = out(), third = out();

        // Twice: the second time with what the mailbox has.
        xrt::run run = left(xrt::autostart{2}, a, b, first, count);
        xrt::mailbox box(run);
        REFUSED(EINVAL, "call read first", box.get_arg(3));
        REFUSED(EINVAL, "it has 0 a, 1 b", box.set_arg("d", 1));
        box.set_arg("c", second);
        box.set_arg(1, other);
        box.write();
        EXPECT(run.wait() == ERT_CMD_STATE_COMPLETED);
        EXPECT(right_sums(first, 1) == count && right_sums(second, 71) == count);
        box.read();
        EXPECT(box.get_arg("length").second == 8 && std::memcmp(box.get_arg(3).first, &count, 8) == 0);

        // Until it is stopped, also while the program waits for another unit only.
        run = left(xrt::autostart{0}, a, b, first, count);
        REFUSED(EBUSY, "under way", run.start());
        EXPECT(run.wait(1) == ERT_CMD_STATE_TIMEOUT && right_sums(first, 1) == count);
        xrt::mailbox later(run);
        later.set_arg(2, third);
        later.write();
        for (int i = 0; i < 20 && right_sums(third, 1) < count; ++i) {
            right(a, b, second, count).wait();
        }
        EXPECT(right_sums(third, 1) == count && right_sums(second, 1) == count);
        // What is read is of a run with the values that were written: no wait is needed between them.
        for (int round = 0; round < 4; ++round) {
            xrt::bo &target = round % 2 == 0 ? second : third;
            std::fill_n(target.map<std::uint32_t *>(), count, 0);
            target.sync(XCL_BO_SYNC_BO_TO_DEVICE);
            later.set_arg(2, target);
            later.write();
            later.read();
            const std::uint64_t address = target.address();
            EXPECT(std::memcmp(later.get_arg(2).first, &address, sizeof address) == 0 && right_sums(target, 1) == count);
        }
        EXPECT(run.state() == ERT_CMD_STATE_RUNNING);
        run.stop();
        EXPECT(run.state() == ERT_CMD_STATE_COMPLETED && run.wait() == ERT_CMD_STATE_COMPLETED);
        // Without autostart it runs once.
        run.set_arg(2, second);
        run.start();
        EXPECT(run.wait() == ERT_CMD_STATE_COMPLETED && right_sums(second, 1) == count);
        run.start(xrt::autostart{});
        EXPECT(run.abort() == ERT_CMD_STATE_ABORT);
    });
}
