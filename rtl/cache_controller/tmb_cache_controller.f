// The cache controller, in compilation order, relative to the checkout.
+incdir+rtl/lib
rtl/lib/tmb_pkg.sv
rtl/lib/tmb_fifo.sv
rtl/lib/tmb_round_robin_arbiter.sv
rtl/lib/tmb_ram_1r1w.sv
protocols/generated/tmb_mesi_protocol_pkg.sv
rtl/directory/tmb_directory_pkg.sv
rtl/directory/tmb_directory_timeouts.sv
protocols/generated/tmb_mesi_cache_rom.sv
rtl/cache_controller/tmb_cache_controller_pkg.sv
rtl/cache_controller/tmb_cache_controller_waiting.sv
rtl/cache_controller/tmb_cache_controller_holds.sv
rtl/cache_controller/tmb_cache_controller_fill.sv
rtl/cache_controller/tmb_cache_controller_writeback.sv
rtl/cache_controller/tmb_cache_controller_pipeline.sv
rtl/cache_controller/tmb_cache_controller.sv
