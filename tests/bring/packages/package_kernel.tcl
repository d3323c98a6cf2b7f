# As the RTL kernel wizard writes it, cut to what a kernel needs.
set path_to_packaged "./packaged"
create_project -force kernel_pack ./tmp
add_files -norecurse [glob ../src/*.v]
set_property top plain [current_fileset]
ipx::package_project -root_dir $path_to_packaged -vendor example.com -library own -taxonomy /KernelIP
set core [ipx::current_core]
ipx::associate_bus_interfaces -busif m_axi_gmem -clock ap_clk $core
ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
set mem_map [::ipx::add_memory_map -quiet "s_axi_control" $core]
set addr_block [::ipx::add_address_block -quiet "reg0" $mem_map]
set reg [::ipx::add_register "CTRL" $addr_block]
  set_property address_offset 0x000 $reg
  set_property size           32    $reg
set reg [::ipx::add_register "src" $addr_block]
  set_property address_offset 0x010 $reg
  set_property size           [expr {8*8}] $reg
  set regparam [::ipx::add_register_parameter -quiet {ASSOCIATED_BUSIF} $reg]
  set_property value m_axi_gmem $regparam
set reg [::ipx::add_register "dst" $addr_block]
  set_property address_offset 0x018 $reg
  set_property size           64    $reg
  set regparam [::ipx::add_register_parameter -quiet {ASSOCIATED_BUSIF} $reg]
  set_property value m_axi_gmem $regparam
set reg [::ipx::add_register "n" $addr_block]
  set_property address_offset 0x020 $reg
  set_property size           32    $reg
package_xo -xo_path ../plain.xo -kernel_name plain -ip_directory $path_to_packaged -ctrl_protocol ap_ctrl_hs
