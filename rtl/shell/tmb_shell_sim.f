// The shell as simulations see it: with protocol assertions on every bus.
+incdir+rtl/axi/assert
rtl/axi/assert/tmb_axi_assert_pkg.sv
rtl/axi/assert/tmb_offer_assert.sv
rtl/axi/assert/tmb_axi_write_assert.sv
rtl/axi/assert/tmb_axi_read_assert.sv
rtl/axi/assert/tmb_axi_assert.sv
rtl/axi/assert/tmb_axi_lite_assert.sv
-f rtl/shell/tmb_shell.f
rtl/shell/tmb_shell_assert.sv
rtl/shell/tmb_shell_assert_bind.sv
