// Several compute units: a run takes any free unit; runs in excess wait in a queue. argv: vadd twice, argv[2]: the name
// to open.
#include <cstdint>
#include <vector>

#include "check.h"
#include "experimental/xrt_queue.h"
#include "xrt/xrt_kernel.h"

int main(int argc, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        auto uuid = device.load_xclbin(argv[1]);
        xrt::kernel vadd(device, uuid, argc > 2 ? argv[2] : "vadd");
        const std::uint32_t count = 3000, runs = 7;
        xrt::bo a(device, 4 * count, vadd.group_id(0));
        for (std::uint32_t i = 0; i < count; ++i) {
            a.map<std::uint32_t *>()[i] = i;
        }
        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        std::vector<xrt::bo> others, sums;
        std::vector<xrt::run> started;
        for (std::uint32_t n = 0; n < runs; ++n) {
            others.emplace_back(device, 4 * count, vadd.group_id(1));
            sums.emplace_back(device, 4 * count, vadd.group_id(2));
            std::fill_n(others.back().map<std::uint32_t *>(), count, n * 1000);
            others.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
            started.push_back(vadd(a, others.back(), sums.back(), static_cast<std::uint64_t>(count)));
        }
        // The last one first.
        for (std::uint32_t n = runs; n-- > 0;) {
            EXPECT(started[n].wait() == ERT_CMD_STATE_COMPLETED);
        }
        for (std::uint32_t n = 0; n < runs; ++n) {
            sums[n].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
            for (std::uint32_t i = 0; i < count; ++i) {
                EXPECT(sums[n].map<std::uint32_t *>()[i] == i + n * 1000);
            }
        }

        // Copies and runs of two queues, each in order, tied by an event.
        xrt::queue first, second;
        auto filled = first.enqueue([&] {
            std::fill_n(others[0].map<std::uint32_t *>(), count, 5u);
            others[0].sync(XCL_BO_SYNC_BO_TO_DEVICE);
            return 5;
        });
        second.enqueue(filled);
        second.enqueue([&] { vadd(a, others[0], sums[0], static_cast<std::uint64_t>(count)).wait(); });
        auto fetched = second.enqueue([&] { sums[0].sync(XCL_BO_SYNC_BO_FROM_DEVICE); });
        xrt::queue::event(fetched).wait();
        EXPECT(filled.get() == 5 && sums[0].map<std::uint32_t *>()[9] == 14);
    });
}
