// Buffers in host memory: kernels reach them over PCIe, and there is one copy. argv: vadd with all of it in HOST[0].
#include "check.h"
#include "xrt/xrt_kernel.h"

int main(int, char **argv) {
    return guarded([&] {
        xrt::device device(0);
        auto uuid = device.load_xclbin(argv[1]);
        xrt::kernel vadd(device, uuid, "vadd");
        const int count = 3000;
        xrt::bo a(device, 4 * count, xrt::bo::flags::host_only, vadd.group_id(0));
        xrt::bo b(device, 4 * count, vadd.group_id(1)); // the bank determines its place
        xrt::bo c(device, 4 * count, xrt::bo::flags::host_only, vadd.group_id(2));
        for (int i = 0; i < count; ++i) {
            a.map<int *>()[i] = i;
            b.map<int *>()[i] = 2 * i;
        }
        // No sync is needed, and it does nothing.
        a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        vadd(a, b, c, count).wait();
        for (int i = 0; i < count; ++i) {
            EXPECT(c.map<int *>()[i] == 3 * i);
        }
    });
}
