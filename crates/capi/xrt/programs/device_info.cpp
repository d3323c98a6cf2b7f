// Devices: which there are, what they say of themselves, and the small headers. argv: vadd.
#include <cstdint>

#include "check.h"
#include "experimental/xrt_error.h"
#include "experimental/xrt_ini.h"
#include "experimental/xrt_message.h"
#include "experimental/xrt_profile.h"
#include "experimental/xrt_system.h"
#include "experimental/xrt_version.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_uuid.h"

int main(int, char **argv) {
    return guarded([&] {
        EXPECT(xrt::system::enumerate_devices() == 1);
        REFUSED(ENODEV, "device 1", xrt::device(1));
        REFUSED(ENODEV, "device nobody", xrt::device("nobody"));
        xrt::device device(0), other(std::string("0000:01:00.1")), third("0");
        EXPECT(device == other && device == third && device != xrt::device() && !xrt::device());
        namespace info = xrt::info;
        EXPECT(device.get_info<info::device::bdf>() == "0000:01:00.1");
        EXPECT(device.get_info<info::device::name>().find("tombolo_") == 0);
        EXPECT(!device.get_info<info::device::nodma>() && !device.get_info<info::device::offline>());
        EXPECT(device.get_info<info::device::m2m>());
        const std::uint32_t engines = device.get_info<info::device::kdma>();
        const unsigned long mhz = device.get_info<info::device::max_clock_frequency_mhz>();
        EXPECT(engines == 0 && mhz == 250);
        for (const std::string &report :
             {device.get_info<info::device::electrical>(), device.get_info<info::device::thermal>(),
              device.get_info<info::device::mechanical>(), device.get_info<info::device::memory>(),
              device.get_info<info::device::platform>(), device.get_info<info::device::pcie_info>(),
              device.get_info<info::device::host>(), device.get_info<info::device::aie>(),
              device.get_info<info::device::aie_shim>(), device.get_info<info::device::aie_mem>(),
              device.get_info<info::device::dynamic_regions>(), device.get_info<info::device::vmr>()}) {
            EXPECT(report.front() == '{' && report.back() == '}');
        }
        EXPECT(!device.get_xclbin_uuid() && !device.get_info<info::device::interface_uuid>());
        const xrt::uuid uuid = device.load_xclbin(argv[1]);
        EXPECT(uuid && uuid == device.get_xclbin_uuid() && uuid == other.get_xclbin_uuid());
        EXPECT(device.get_info<info::device::dynamic_regions>().find("vadd:vadd_1") != std::string::npos);
        // Loading it again changes nothing.
        EXPECT(device.load_xclbin(argv[1]) == uuid);

        EXPECT(uuid.to_string().size() == 36 && xrt::uuid(uuid.to_string()) == uuid && xrt::uuid(uuid.get()) == uuid);
        EXPECT(xrt::uuid() != uuid && xrt::uuid() < uuid && !xrt::uuid(std::string()));
        REFUSED(EINVAL, "no UUID", xrt::uuid(std::string("not one")));

        device.reset();
        EXPECT(!device.get_xclbin_uuid());

        xrt::ini::set("Runtime.verbosity", 4);
        xrt::ini::set("Debug.native_xrt_trace", "true");
        xrt::profile::user_range range("work", "of mine");
        range.end();
        range.start("more");
        range.end();
        xrt::profile::user_event().mark("here");
        xrt::message::log(xrt::message::level::info, "program", "hello");
        xrt::message::logf(xrt::message::level::warning, "program", "%d of %s", 1, "one");
        EXPECT(xrt::version::code() == (xrt::version::major() << 16 | xrt::version::minor()));
        xrt::error error(device, XRT_ERROR_CLASS_AIE);
        EXPECT(error.get_error_code() == 0 && error.get_timestamp() == 0 && error.to_string() == "no error");
    });
}
