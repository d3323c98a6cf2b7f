// What the scheduler costs with levels alone (tools/synthesis).
+incdir+rtl/lib
rtl/lib/tmb_pkg.sv
rtl/schedule/tmb_schedule_pkg.sv
rtl/schedule/tmb_schedule.sv
rtl/schedule/tests/schedule_synth_levels.sv
