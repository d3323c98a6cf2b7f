// A bo in a bank that the argument does not reach: the kernel gets a copy, as with XRT. argv: vadd with c in DDR[1].
#include "check.h"
#include "xrt/xrt_kernel.h"

int main(int, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        auto uuid = device.load_xclbin(argv[1]);
        xrt::kernel vadd(device, uuid, "vadd:left");
        const auto wrong = static_cast<xrt::memory_group>(vadd.group_id(2));
        EXPECT(vadd.group_id(0) != vadd.group_id(2));
        xrt::bo a(device, 64, wrong), c(device, 64, vadd.group_id(2)), other(device, 64, vadd.group_id(0));
        for (int i = 0; i < 16; ++i) {
            a.map<int *>()[i] = i;
        }
        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        // The kernel reads the contents at the time when the argument is set.
        vadd(a, a, c, 16).wait();
        c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(c.map<int *>()[15] == 30);
        // Writes of the kernel to a copy do not reach the buffer.
        vadd(a, a, other, 16).wait();
        other.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(other.map<int *>()[15] == 0);
    });
}
