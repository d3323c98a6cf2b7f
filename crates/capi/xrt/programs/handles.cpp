// Devices by untyped handles, as functions take them that C and C++ share, and constants of C as flags. argv: vadd.
#include <cstdint>

#include "check.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

namespace {

const int count = 1000;

/* The device is whatever converts to a handle. */
xrt::bo numbers(xrtDeviceHandle device, int group, int factor) {
    auto made = xrt::bo(device, count * sizeof(int), group);
    auto words = made.map<int *>();
    for (int i = 0; i < count; ++i) {
        words[i] = factor * i;
    }
    made.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    return made;
}

void adds(xrtDeviceHandle device, const xrt::kernel &vadd) {
    auto kernel = vadd;
    const xrt::bo a = numbers(device, kernel.group_id(0), 1), b = numbers(device, kernel.group_id(1), 3);
    xrt::bo c(device, count * sizeof(int), xrt::bo::flags::normal, kernel.group_id(2));
    kernel(a, b, c, count).wait();
    c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    for (int i = 0; i < count; ++i) {
        EXPECT(c.map<const int *>()[i] == 4 * i);
    }
}

} // namespace

int main(int, char **argv) {
    return guarded([&] {
        xrt::bo last;
        {
            xrt::device device(0);
            auto uuid = device.load_xclbin(argv[1]);
            xrt::kernel vadd(device, uuid, "vadd");
            adds(device, vadd);
            // Every way to say which flags.
            EXPECT(xrt::bo(device, 64, XRT_BO_FLAGS_DEV_ONLY, 0).get_flags() == xrt::bo::flags::device_only);
            EXPECT(xrt::bo(device, 64, XCL_BO_FLAGS_CACHEABLE, 0).get_flags() == xrt::bo::flags::cacheable);
            EXPECT(xrt::bo(device, 64, 0, 0).get_flags() == xrt::bo::flags::normal);
            const xclDeviceHandle handle = device;
            EXPECT(xrt::device(handle) == device);
            EXPECT(xrt::bo(handle, 64, XRT_BO_FLAGS_DEV_ONLY, 0).get_flags() == xrt::bo::flags::device_only);
            const xrt::kernel same(handle, uuid.get(), "vadd");
            EXPECT(same.get_name() == "vadd");
            last = numbers(handle, vadd.group_id(0), 5);
        }
        // Objects made from a handle keep the device open.
        last.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(last.map<int *>()[7] == 35);
        last = xrt::bo();

        // A handle of C.
        xrtDeviceHandle device = xrtDeviceOpen(0);
        EXPECT(device != nullptr && xrtDeviceLoadXclbinFile(device, argv[1]) == 0);
        xuid_t uuid;
        EXPECT(xrtDeviceGetXclbinUUID(device, uuid) == 0);
        adds(device, xrt::kernel(device, uuid, "vadd"));
        EXPECT(xrtDeviceClose(device) == 0);
        REFUSED(EBADF, "null pointer", xrt::bo(xrtDeviceHandle(nullptr), 64, 0));
    });
}
