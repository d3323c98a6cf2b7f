// Interrupts of a compute unit that the program drives by its registers. argv: one with vadd twice (left, right).
#include <chrono>
#include <cstdint>
#include <thread>

#include "check.h"
#include "experimental/xrt_ip.h"
#include "xrt/xrt_bo.h"

int main(int, char **argv) {
    return guarded([&] {
        using std::chrono::milliseconds;
        xrt::device device(std::stoul("0"));
        auto uuid = device.load_xclbin(argv[1]);
        const std::uint64_t count = 3000;
        xrt::bo a(device, 4 * count, 0), c(device, 4 * count, XCL_BO_FLAGS_NONE, 1);
        for (std::uint32_t i = 0; i < count; ++i) {
            a.map<std::uint32_t *>()[i] = i;
        }
        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        xrt::ip left(device, uuid, "vadd:{left}");
        auto write64 = [&](std::uint32_t offset, std::uint64_t value) {
            left.write_register(offset, static_cast<std::uint32_t>(value));
            left.write_register(offset + 4, static_cast<std::uint32_t>(value >> 32));
        };
        write64(0x10, a.address());
        write64(0x18, a.address());
        write64(0x20, c.address());
        write64(0x28, count);
        auto interrupt = left.create_interrupt_notify();
        // Nothing runs. The interrupt at the end of a run is enabled.
        EXPECT(interrupt.wait(milliseconds(1)) == std::cv_status::timeout);
        EXPECT(left.read_register(4) == 1 && left.read_register(8) == 1);
        // Not by a program that disables it.
        interrupt.disable();
        EXPECT(left.read_register(4) == 0 && left.read_register(8) == 0);
        interrupt.enable();
        left.write_register(8, 0);
        left.write_register(0, 1);
        EXPECT(interrupt.wait(milliseconds(20)) == std::cv_status::timeout);
        EXPECT((left.read_register(0) & 2) != 0 && left.read_register(0xc) == 0);

        left.write_register(8, 1);
        for (int round = 0; round < 3; ++round) {
            left.write_register(0, 1);
            switch (round) {
            case 0:
                interrupt.wait();
                break;
            case 1:
                EXPECT(interrupt.wait(milliseconds(1000)) == std::cv_status::no_timeout);
                break;
            default:
                // Polled to the end: the interrupt is kept.
                while ((left.read_register(0) & 2) == 0) {
                }
                EXPECT(interrupt.wait(milliseconds(1)) == std::cv_status::no_timeout);
            }
            EXPECT(interrupt.wait(milliseconds(1)) == std::cv_status::timeout);
            EXPECT(left.read_register(0xc) == 1);
            left.write_register(0xc, 1);
            EXPECT(left.read_register(0xc) == 0);
            c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
            for (std::uint32_t i = 0; i < count; ++i) {
                EXPECT(c.map<std::uint32_t *>()[i] == 2 * i);
            }
        }
        // A thread that waits before another starts the kernel.
        std::thread waiting([&] { interrupt.wait(); });
        left.write_register(0, 1);
        waiting.join();

        interrupt.disable();
        REFUSED(EINVAL, "it is disabled", interrupt.wait());
        EXPECT(interrupt.wait(milliseconds(1)) == std::cv_status::timeout);
        interrupt.enable();
        REFUSED(EINVAL, "it is empty", xrt::ip::interrupt().wait());
    });
}
