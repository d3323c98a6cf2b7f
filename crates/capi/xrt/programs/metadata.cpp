// Metadata of an .xclbin, and loading it as an object or as bytes. argv: one with vadd twice (left, right).
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "check.h"
#include "experimental/xrt_xclbin.h"
#include "xclbin.h"
#include "xrt/xrt_hw_context.h"
#include "xrt/xrt_kernel.h"

int main(int, char **argv) {
    return guarded([&] {
        const xrt::xclbin file(std::string{argv[1]});
        EXPECT(file && !xrt::xclbin() && file == file && file != xrt::xclbin());
        EXPECT(file.get_xsa_name() == "tombolo_f1" && file.get_fpga_device_name() == "f1");
        EXPECT(file.get_target_type() == xrt::xclbin::target_type::hw_emu && !file.get_interface_uuid());

        const auto kernels = file.get_kernels();
        EXPECT(kernels.size() == 1 && kernels[0].get_name() == "vadd" && kernels[0].get_num_args() == 4);
        EXPECT(kernels[0].get_type() == xrt::xclbin::kernel::kernel_type::pl);
        EXPECT(file.get_kernel("vadd") && !file.get_kernel("vsub"));
        const auto kernel = file.get_kernel("vadd");
        EXPECT(kernel.get_cus().size() == 2 && kernel.get_cus("left").size() == 1 && kernel.get_cu("right"));
        const auto argument = kernel.get_arg(2);
        EXPECT(argument.get_name() == "c" && argument.get_port() == "m_axi_gmem1" && argument.get_index() == 2);
        EXPECT(argument.get_size() == 8 && argument.get_offset() == 0x20 && !argument.get_host_type().empty());
        EXPECT(argument.get_mems().size() == 2 && !kernel.get_arg(9));
        EXPECT(kernel.get_args().size() == 4 && kernel.get_args()[3].get_mems().empty());

        const auto ips = file.get_ips();
        EXPECT(ips.size() == 2 && ips[0].get_name() == "vadd:left" && ips[1].get_name() == "vadd:right");
        EXPECT(file.get_ips("vadd").size() == 2 && file.get_ip("vadd:{right}").get_name() == "vadd:right");
        EXPECT(ips[0].get_control_type() == xrt::xclbin::ip::control_type::hs && ips[0].get_num_args() == 4);
        EXPECT(ips[0].get_type() == xrt::xclbin::ip::ip_type::pl && ips[0].get_size() == 0x10000);
        EXPECT(ips[0].get_base_address() != ips[1].get_base_address());
        EXPECT(ips[1].get_arg(2).get_mems().at(0).get_tag() == "DDR[1]" && ips[0].get_args().size() == 4);

        bool used = false;
        for (const auto &mem : file.get_mems()) {
            used = used || (mem.get_used() && mem.get_tag() == "DDR[1]");
            EXPECT(mem.get_size_kb() > 0);
        }
        EXPECT(used);
        const auto first = file.get_mems().at(0);
        EXPECT(first.get_type() == xrt::xclbin::mem::memory_type::ddr4 && first.get_index() == 0);
        EXPECT(first.get_base_address() == 0 && file.get_mems().at(1).get_base_address() == first.get_size_kb() * 1024);

        // The same file as bytes.
        std::ifstream stream(argv[1], std::ios::binary);
        const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
        EXPECT(xrt::xclbin(bytes).get_uuid() == file.get_uuid());
        const auto axlf_of_file = reinterpret_cast<const axlf *>(bytes.data());
        EXPECT(xrt::xclbin(axlf_of_file).get_uuid() == file.get_uuid());
        EXPECT(xrt::xclbin(file.get_axlf()).get_uuid() == file.get_uuid());

        REFUSED(ENOTSUP, "use get_kernels", file.get_axlf_section<const void *>(MEM_TOPOLOGY));
        EXPECT(file.get_aie_partitions().empty());

        // The files of a folder.
        const std::string path = argv[1];
        const xrt::xclbin_repository folder(path.substr(0, path.rfind('/')));
        const std::string name = path.substr(path.rfind('/') + 1);
        EXPECT(folder.end() - folder.begin() > 0 && folder.load(name).get_uuid() == file.get_uuid());
        bool there = false;
        for (auto at = folder.begin(); at != folder.end(); ++at) {
            there = there || (at.path() == path && (*at).get_uuid() == file.get_uuid());
        }
        EXPECT(there);
        REFUSED(ENOENT, "load", folder.load("none.xclbin"));
        REFUSED(ENOENT, "none", xrt::xclbin_repository("none"));

        // Fields that programs read from the bytes.
        const axlf_header &header = axlf_of_file->m_header;
        EXPECT(header.m_length == bytes.size() && header.m_numSections == 0);
        EXPECT(std::memcmp(header.uuid, file.get_uuid().get(), sizeof header.uuid) == 0);
        EXPECT(std::string(reinterpret_cast<const char *>(header.m_platformVBNV)) == "tombolo_f1");

        xrt::device device(0);
        const auto uuid = device.register_xclbin(file);
        EXPECT(uuid == file.get_uuid() && device.load_xclbin(axlf_of_file) == uuid && device.load_xclbin(file) == uuid);
        EXPECT(device.get_xclbin(uuid).get_kernels().size() == 1);
        xrt::hw_context context(device, uuid), exclusive(device, uuid, xrt::hw_context::access_mode::exclusive);
        context.update_qos({{"priority", 1}});
        EXPECT(context.get_xclbin_uuid() == uuid && context.get_device() == device && context.get_xclbin());
        EXPECT(exclusive.get_mode() == xrt::hw_context::access_mode::exclusive);
        EXPECT(context.get_mode() == xrt::hw_context::access_mode::shared && !xrt::hw_context());
        REFUSED(EINVAL, "not registered", xrt::hw_context(device, xrt::uuid()));
        xrt::kernel vadd(context, "vadd");
        EXPECT(vadd.get_xclbin().get_uuid() == uuid && vadd.get_name() == "vadd" && vadd.offset(3) == 0x28);
        xrt::bo in(context, 64, vadd.group_id(0)), out(context, 64, xrt::bo::flags::normal, vadd.group_id(2));
        in.map<int *>()[0] = 21;
        in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        vadd(in, in, out, 16).wait();
        out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(out.map<int *>()[0] == 42);

        // Runs one after the other: the second reads what the first has written.
        xrt::bo last(context, 64, vadd.group_id(2));
        xrt::run first_run(vadd), second_run(vadd);
        for (int index = 0; index < 2; ++index) {
            first_run.set_arg(index, in);
            second_run.set_arg(index, out);
        }
        first_run.set_arg(2, out);
        second_run.set_arg(2, last);
        first_run.set_arg(3, 16);
        second_run.set_arg(3, 16);
        xrt::runlist list(context);
        list.add(first_run);
        list.add(second_run);
        list.execute();
        REFUSED(EBUSY, "it executes", list.add(first_run));
        list.wait();
        EXPECT(list.state() == ERT_CMD_STATE_COMPLETED && list.poll() != 0);
        last.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        EXPECT(last.map<int *>()[0] == 84);
        list.reset();
    });
}
