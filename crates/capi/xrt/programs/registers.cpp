// A kernel by its registers: xrt::ip, and xrt::kernel opened exclusively. argv: one with vadd twice (left, right).
#include <cstdint>

#include "check.h"
#include "experimental/xrt_ip.h"
#include "xrt/xrt_kernel.h"

int main(int, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        auto uuid = device.load_xclbin(argv[1]);
        REFUSED(ENOENT, "no such kernel `vsub`", xrt::ip(device, uuid, "vsub"));
        REFUSED(EINVAL, "2 compute units match", xrt::ip(device, uuid, "vadd"));
        xrt::bo a(device, 4000, 0), c(device, 4000, 1);
        for (int i = 0; i < 1000; ++i) {
            a.map<int *>()[i] = i;
        }
        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        {
            xrt::ip left(device, uuid, "vadd:{left}");
            EXPECT(left && !xrt::ip());
            REFUSED(EBUSY, "open exclusively", xrt::ip(device, uuid, "vadd:left"));
            REFUSED(EBUSY, "open exclusively", xrt::kernel(device, uuid, "vadd"));
            auto write64 = [&](std::uint32_t offset, std::uint64_t value) {
                left.write_register(offset, static_cast<std::uint32_t>(value));
                left.write_register(offset + 4, static_cast<std::uint32_t>(value >> 32));
            };
            write64(0x10, a.address());
            write64(0x18, a.address());
            write64(0x20, c.address());
            write64(0x28, 1000);
            EXPECT(left.read_register(0x28) == 1000 && (left.read_register(0) & 4) != 0); // idle
            left.write_register(0, 1);
            std::uint32_t control = 0;
            while ((control & 2) == 0) {
                control = left.read_register(0);
            }
            c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
            for (int i = 0; i < 1000; ++i) {
                EXPECT(c.map<int *>()[i] == 2 * i);
            }
            THROWS(std::out_of_range, left.read_register(0x10000));
            THROWS(std::out_of_range, left.write_register(2, 0));
        }
        // The unit is free again.
        xrt::kernel right(device, uuid, "vadd:{right}", xrt::kernel::cu_access_mode::exclusive);
        right.write_register(0x10, 0x1234);
        EXPECT(right.read_register(0x10) == 0x1234);
        THROWS(std::out_of_range, right.read_register(0x20000));
        REFUSED(EBUSY, "open exclusively", xrt::kernel(device, uuid, "vadd"));
        xrt::kernel left(device, uuid, "vadd:left");
        THROWS(std::runtime_error, left.read_register(0));
        // Registers in a range may be read of a shared kernel as well.
        xrt::set_read_range(left, left.offset(3), 8);
        EXPECT(left.read_register(left.offset(3)) == 1000);
        THROWS(std::runtime_error, left.read_register(left.offset(3) + 8));
        THROWS(std::runtime_error, left.write_register(left.offset(3), 1));
        THROWS(std::out_of_range, xrt::set_read_range(left, 0xfffc, 8));
        REFUSED(EBUSY, "by others", xrt::ip(device, uuid, "vadd:left"));
        // To know what it is does not need the unit.
        xrt::kernel known(device, uuid, "vadd", xrt::kernel::cu_access_mode::none);
        EXPECT(known.group_id(2) == 1 && known.group_id(3) != 0 && known.offset(1) == 0x18);
        REFUSED(EINVAL, "argument 4", known.group_id(4));
        REFUSED(EINVAL, "argument 4", known.offset(4));
    });
}
