// Files and kernels that are refused. argv: vadd, another one, one of the kernel loopback (no start, no done), a folder.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "check.h"
#include "experimental/xrt_ip.h"
#include "xrt/xrt_kernel.h"

namespace {

std::string contents(const std::string &path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

std::string written(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

} // namespace

int main(int, char **argv) {
    return guarded([&] {
        const std::string folder = std::string(argv[4]) + "/";
        xrt::device device(0);
        REFUSED(EINVAL, "device: it is empty", xrt::device().load_xclbin(argv[1]));
        REFUSED(ENOENT, "missing.xclbin", device.load_xclbin("missing.xclbin"));
        const std::string real = written(folder + "real.xclbin", std::string("xclbin2\0rest of it", 18));
        REFUSED(EINVAL, "made by v++ for a real card", device.load_xclbin(real));
        REFUSED(EINVAL, "made by v++ for a real card", device.load_xclbin(reinterpret_cast<const axlf *>("xclbin2\0")));
        REFUSED(EINVAL, "first bytes are unknown", device.load_xclbin(written(folder + "none.xclbin", "none")));
        std::string bytes = contents(argv[1]);
        REFUSED(EINVAL, "damaged", device.load_xclbin(written(folder + "cut.xclbin", bytes.substr(0, bytes.size() / 2))));
        bytes[bytes.size() / 2] ^= 1;
        REFUSED(EINVAL, "damaged", device.load_xclbin(written(folder + "bit.xclbin", bytes)));
        REFUSED(ENODEV, "load_xclbin first", xrt::kernel(device, xrt::uuid(), "vadd"));

        auto uuid = device.load_xclbin(argv[1]);
        REFUSED(EINVAL, "is not loaded", xrt::kernel(device, xrt::uuid(), "vadd"));
        REFUSED(ENOENT, "no such kernel `vsub`: the xclbin has vadd:vadd_1", xrt::kernel(device, uuid, "vsub"));
        REFUSED(ENOENT, "no such kernel", xrt::kernel(device, uuid, "vadd:{vadd_2}"));
        REFUSED(EINVAL, "kernel: it is empty", xrt::run{xrt::kernel()});
        {
            xrt::kernel vadd(device, uuid, "vadd");
            xrt::bo a(device, 64, vadd.group_id(0));
            // While the program uses the first xclbin, no other one is loaded.
            REFUSED(EBUSY, "objects of the program use it", device.load_xclbin(argv[2]));
            REFUSED(EBUSY, "objects of the program use it", device.reset());
        }
        uuid = device.load_xclbin(argv[2]);
        EXPECT(xrt::kernel(device, uuid, "vadd:right"));
        uuid = device.load_xclbin(argv[3]);
        REFUSED(ENOTSUP, "use xrt::ip", xrt::kernel(device, uuid, "loopback"));
        REFUSED(EINVAL, "has no interrupt", xrt::ip(device, uuid, "loopback").create_interrupt_notify());

        // The environment.
        setenv("XCL_EMULATION_MODE", "sw_emu", 1);
        REFUSED(EINVAL, "set it to hw_emu", xrt::device(0));
        setenv("XCL_EMULATION_MODE", "hw_emu", 1);
        setenv("TOMBOLO_XRT_CARD", "u280", 1);
        REFUSED(EINVAL, "linked for platform f1, but the card is u280", device.load_xclbin(argv[1]));
    });
}
