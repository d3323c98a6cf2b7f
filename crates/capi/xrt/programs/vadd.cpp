// Adds two arrays on the card, as a program of XRT's documentation does, and compares. argv: the .xclbin, and how many
// integers.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

int main(int argc, char **argv) {
    if (argc < 2) {
        std::cerr << "usage: vadd FILE.xclbin [COUNT]\n";
        return EXIT_FAILURE;
    }
    const std::string binary = argv[1];
    const std::size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 0) : 4096;
    const std::size_t bytes = count * sizeof(int);
    try {
        auto device = xrt::device(0);
        auto uuid = device.load_xclbin(binary);
        auto krnl = xrt::kernel(device, uuid, "vadd");

        auto bo0 = xrt::bo(device, bytes, krnl.group_id(0));
        auto bo1 = xrt::bo(device, bytes, krnl.group_id(1));
        auto bo_out = xrt::bo(device, bytes, krnl.group_id(2));
        auto a = bo0.map<int *>();
        auto b = bo1.map<int *>();
        auto sums = bo_out.map<int *>();
        for (std::size_t i = 0; i < count; ++i) {
            a[i] = static_cast<int>(i * 2654435761u);
            b[i] = static_cast<int>(i ^ 0x5a5a);
            sums[i] = 0;
        }
        bo0.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        bo1.sync(XCL_BO_SYNC_BO_TO_DEVICE);

        auto run = krnl(bo0, bo1, bo_out, static_cast<unsigned long>(count));
        run.wait();

        bo_out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        for (std::size_t i = 0; i < count; ++i) {
            const int expected = static_cast<int>(static_cast<unsigned>(a[i]) + static_cast<unsigned>(b[i]));
            if (sums[i] != expected) {
                std::cout << "at " << i << ": " << sums[i] << ", not " << expected << "\nTEST FAILED\n";
                return EXIT_FAILURE;
            }
        }
    } catch (const std::exception &error) {
        std::cerr << "error: " << error.what() << "\nTEST FAILED\n";
        return EXIT_FAILURE;
    }
    std::cout << "TEST PASSED\n";
    return EXIT_SUCCESS;
}
