//! The bars, one file per topic.

mod advice;
mod aes;
mod axi;
mod bring;
mod bring_kernels;
mod build;
mod cache;
mod cache_controller;
mod callgrind;
mod cases;
mod cckit;
mod cckit_varied;
mod coherent_map;
mod command;
mod counted;
mod daemon;
mod defaults;
mod demo;
mod determinism;
mod directory;
mod docs;
mod fault;
mod finish;
mod first;
mod footprint;
mod formal;
mod fresh_machine;
mod fsrf;
mod fsrf_direct;
mod fsrf_means;
mod functional;
mod guest;
mod house;
mod html;
mod isolation;
mod kernels;
mod lab_all;
mod languages;
mod memory_model;
mod mutants;
mod oversubscription;
mod owner;
mod pager;
mod pcie;
mod policy;
mod prefetch;
mod protocol;
mod records;
mod remote;
mod rpc;
mod rpc_lines;
mod sched;
mod serve;
mod served;
mod shared;
mod shared_table;
pub(crate) mod sim_speed;
mod slots;
mod small;
mod snapshot;
mod speed;
mod split;
mod stranger;
mod stream;
mod synthesis;
mod view;
mod vio;
mod vio_kernels;
mod vio_network;
mod vio_wired;
mod walk;
mod work_queue;

use crate::bar::Bar;
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::Command;

/// The `tombolo` command, built from the present tree.
fn the_command() -> Result<PathBuf, Failure> {
    let home = simcard::home();
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--bin", "tombolo"])
        .current_dir(&home)
        .status()?;
    match built.success() {
        true => Ok(home.join("target/release/tombolo")),
        false => Err("the tombolo command does not build".into()),
    }
}

/// Every bar, fast ones first.
pub const ALL: &[Bar] = &[
    Bar {
        names: &["oversub.identical", "oversub.evictions"],
        measure: oversubscription::measure,
    },
    Bar {
        names: &[
            "vio.lost",
            "vio.packets",
            "vio.switch_cycles",
            "slot_to_slot.rows_per_cycle",
        ],
        measure: vio::switch,
    },
    Bar {
        names: &["vio.switch_us", "slot_to_slot.share_of_one_kernel"],
        measure: vio::program,
    },
    Bar {
        names: bring::NAMES,
        measure: bring::measure,
    },
    Bar {
        names: bring_kernels::NAMES,
        measure: bring_kernels::measure,
    },
    Bar {
        names: records::NAMES,
        measure: records::measure,
    },
    Bar {
        names: remote::NAMES,
        measure: remote::measure,
    },
    Bar {
        names: vio_wired::NAMES,
        measure: vio_wired::share_of_wired,
    },
    Bar {
        names: vio_network::NAMES,
        measure: vio_network::measure,
    },
    Bar {
        names: vio_kernels::NAMES,
        measure: vio_kernels::measure,
    },
    Bar {
        names: sched::NAMES,
        measure: sched::measure,
    },
    Bar {
        names: fsrf::REPRODUCED,
        measure: fsrf::reproduced,
    },
    Bar {
        names: fsrf::REFITTED,
        measure: fsrf::refitted,
    },
    Bar {
        names: fsrf_means::HOT,
        measure: fsrf_means::hot,
    },
    Bar {
        names: fsrf_means::LOADED,
        measure: fsrf_means::loaded,
    },
    Bar {
        names: fsrf::FAIRNESS,
        measure: fsrf::fairness,
    },
    Bar {
        names: fsrf::HOT_STREAM,
        measure: fsrf::hot_stream,
    },
    Bar {
        names: fsrf::HOT_RANDOM,
        measure: fsrf::hot_random,
    },
    Bar {
        names: fsrf_direct::NAMES,
        measure: fsrf_direct::measure,
    },
    Bar {
        names: fsrf_direct::FILE_NAMES,
        measure: fsrf_direct::files,
    },
    Bar {
        names: fsrf::FIGURE9,
        measure: fsrf::figure9,
    },
    Bar {
        names: fsrf::MIX,
        measure: fsrf::mix,
    },
    Bar {
        names: fsrf::OVERSUBSCRIBED,
        measure: fsrf::oversubscribed,
    },
    Bar {
        names: fsrf::WORST_ROW,
        measure: fsrf::worst_row,
    },
    Bar {
        names: fsrf::MINUTES,
        measure: fsrf::minutes,
    },
    Bar {
        names: fsrf::FIGURE_MINUTES,
        measure: fsrf::figure_minutes,
    },
    Bar {
        names: lab_all::MINUTES,
        measure: lab_all::minutes,
    },
    Bar {
        names: &["determinism.golden"],
        measure: determinism::measure,
    },
    Bar {
        names: determinism::COPIES,
        measure: determinism::copies,
    },
    Bar {
        names: small::NAMES,
        measure: small::measure,
    },
    Bar {
        names: defaults::NAMES,
        measure: defaults::measure,
    },
    Bar {
        names: &["kernels.reference_wrong"],
        measure: kernels::measure,
    },
    Bar {
        names: functional::NAMES,
        measure: functional::measure,
    },
    Bar {
        names: &[
            "owner.stale_handles_wrong_bytes",
            "owner.stale_handles_operations",
        ],
        measure: owner::stale_handles,
    },
    Bar {
        names: &["owner.request_us", "owner.request_p99_us"],
        measure: owner::request,
    },
    Bar {
        names: &[
            "owner.bystander_ms",
            "owner.bystander_functional_ms",
            "owner.bystander_simulated_ms",
        ],
        measure: owner::bystanders,
    },
    Bar {
        names: &[
            "fresh_machine.demo_minutes",
            "test.cold_minutes",
            "test.warm_minutes",
            "test.skipped",
        ],
        measure: fresh_machine::measure,
    },
    Bar {
        names: build::NAMES,
        measure: build::measure,
    },
    Bar {
        names: &["house.builders"],
        measure: house::builders,
    },
    Bar {
        names: &[
            "house.circle_rooms",
            "house.owner_fields",
            "house.owner_borrows",
            "house.impl_files",
            "house.card_methods",
            "house.scalar_tuples",
            "house.names_twice",
            "house.mapping_shapes",
            "house.longest_rtl",
            "house.loose_parameters",
            "house.port_comments",
            "house.counter_files",
            "house.code_lines",
        ],
        measure: house::figures,
    },
    Bar {
        names: &["words.banned", "words.banned_comments"],
        measure: house::words,
    },
    Bar {
        names: &["lockstep.threads_golden"],
        measure: owner::lockstep,
    },
    Bar {
        names: &["lockstep.shared_golden"],
        measure: owner::shared_lockstep,
    },
    Bar {
        names: &[
            "shared.upgrade_bytes",
            "shared.upgrades",
            "shared.upgrade_link_bytes",
        ],
        measure: shared::upgrade,
    },
    Bar {
        names: &[
            "shared.trap_gain.2m",
            "shared.trap.2m.us",
            "shared.trap.2m.small_entries_us",
            "shared.trap.2m.userfault_us",
            "shared.trap.2m.in_thread_us",
            "shared.trap.2m.move_us",
            "shared.trap.2m.huge_us",
            "shared.trap_gain.2m.huge",
        ],
        measure: shared::trap_gain,
    },
    Bar {
        names: &[
            "shared.chase",
            "shared.chase.nodes",
            "shared.chase.pages",
            "shared.chase.wall_s",
        ],
        measure: shared::chase,
    },
    Bar {
        names: shared::LANES,
        measure: shared::lanes,
    },
    Bar {
        names: shared::FLEXIMEM,
        measure: shared::fleximem,
    },
    Bar {
        names: shared::VS_READY,
        measure: shared::vs_ready,
    },
    Bar {
        names: shared::CHASE_RTL,
        measure: shared::chase_rtl,
    },
    Bar {
        names: &["shared.lost", "shared.lost.accesses", "shared.lost.traps"],
        measure: shared::lost_functional,
    },
    Bar {
        names: &[
            "shared.lost.rtl",
            "shared.lost.rtl.card_accesses",
            "shared.lost.rtl.host_accesses",
            "shared.lost.rtl.moves",
        ],
        measure: shared::lost_rtl,
    },
    Bar {
        names: &[
            "shared.lost.schedules",
            "shared.lost.schedules.functional",
            "shared.lost.schedules.rtl",
            "shared.lost.schedules.traps",
            "shared.lost.schedules.moves",
        ],
        measure: shared::lost_schedules,
    },
    Bar {
        names: &["split.cycles_equal"],
        measure: split::measure,
    },
    Bar {
        names: &[
            "fault.batch_gain",
            "fault.batch_share_of_pcie",
            "fault.batch_warm",
            "fault.batch_warm_off",
            "fault.batch_cold",
        ],
        measure: fault::measure,
    },
    Bar {
        names: &["stream.hot.share_of_physical"],
        measure: stream::measure,
    },
    Bar {
        names: &["stream.hot4.share_of_physical", "stream.hot4.share_of_peak"],
        measure: stream::measure_four,
    },
    Bar {
        names: &["stream.hot4.over_banks.share_of_physical"],
        measure: stream::measure_four_over_banks,
    },
    Bar {
        names: &[
            "sim.shell_ns_per_cycle",
            "sim.shell_khz",
            "sim.shell_mb_per_s",
            "sim.kernel_ns_per_cycle",
            "sim.kernel_khz",
            "sim.kernel_mb_per_s",
        ],
        measure: speed::measure,
    },
    Bar {
        names: &[
            "sim.instructions_per_cycle.copy",
            "sim.instructions_per_cycle.copy4",
        ],
        measure: sim_speed::measure_instructions,
    },
    Bar {
        names: &[
            "sim.hot_kb.copy",
            "sim.i1_misses.copy",
            "sim.hot_kb.copy4",
            "sim.i1_misses.copy4",
        ],
        measure: sim_speed::measure_footprints,
    },
    Bar {
        names: &["sim.speedup.copy", "sim.speedup.aes", "sim.speedup.copy4"],
        measure: sim_speed::measure_speedups,
    },
    Bar {
        names: &["sim.gated_mismatches", "sim.gated_edges"],
        measure: sim_speed::measure_mismatches,
    },
    Bar {
        names: finish::NAMES,
        measure: finish::measure,
    },
    Bar {
        names: &["isolation.attacks", "isolation.attacks_tried"],
        measure: isolation::measure_attacks,
    },
    Bar {
        names: &["isolation.others_slowdown"],
        measure: isolation::measure_slowdown,
    },
    Bar {
        names: &[
            "policy.sequential.fits.warm.auto_us",
            "policy.sequential.fits.warm.2mib_us",
            "policy.sequential.fits.warm.64kib_us",
            "policy.sequential.fits.warm.4kib_us",
            "policy.sequential.fits.warm.share_of_best",
            "policy.sequential.fits.cold.auto_us",
            "policy.sequential.fits.cold.2mib_us",
            "policy.sequential.fits.cold.64kib_us",
            "policy.sequential.fits.cold.4kib_us",
            "policy.sequential.fits.cold.share_of_best",
            "policy.random.fits.warm.auto_us",
            "policy.random.fits.warm.2mib_us",
            "policy.random.fits.warm.64kib_us",
            "policy.random.fits.warm.4kib_us",
            "policy.random.fits.warm.share_of_best",
            "policy.random.fits.cold.auto_us",
            "policy.random.fits.cold.2mib_us",
            "policy.random.fits.cold.64kib_us",
            "policy.random.fits.cold.4kib_us",
            "policy.random.fits.cold.share_of_best",
            "policy.sequential.over.warm.auto_us",
            "policy.sequential.over.warm.2mib_us",
            "policy.sequential.over.warm.64kib_us",
            "policy.sequential.over.warm.4kib_us",
            "policy.sequential.over.warm.share_of_best",
            "policy.sequential.over.cold.auto_us",
            "policy.sequential.over.cold.2mib_us",
            "policy.sequential.over.cold.64kib_us",
            "policy.sequential.over.cold.4kib_us",
            "policy.sequential.over.cold.share_of_best",
            "policy.random.over.warm.auto_us",
            "policy.random.over.warm.2mib_us",
            "policy.random.over.warm.64kib_us",
            "policy.random.over.warm.4kib_us",
            "policy.random.over.warm.share_of_best",
            "policy.random.over.cold.auto_us",
            "policy.random.over.cold.2mib_us",
            "policy.random.over.cold.64kib_us",
            "policy.random.over.cold.4kib_us",
            "policy.random.over.cold.share_of_best",
            "policy.auto.worst_share",
        ],
        measure: policy::measure,
    },
    Bar {
        names: &[
            "policy.loop.fifo_us",
            "policy.loop.adaptive_us",
            "policy.loop.gain",
        ],
        measure: policy::loops,
    },
    Bar {
        names: &[
            "policy.join.joined_us",
            "policy.join.64kib_us",
            "policy.join.gain",
        ],
        measure: policy::joined,
    },
    Bar {
        names: &["policy.sharedfirst.rewritten"],
        measure: policy::shared_first,
    },
    Bar {
        names: &[
            "policy.service.one_thread",
            "policy.service.thread_a_space",
            "policy.service.gain",
        ],
        measure: policy::service,
    },
    Bar {
        names: &[
            "app.prefetch.without.clients_1",
            "app.prefetch.without.clients_2",
            "app.prefetch.without.clients_3",
            "app.prefetch.without.clients_4",
            "app.prefetch.with.clients_1",
            "app.prefetch.with.clients_2",
            "app.prefetch.with.clients_3",
            "app.prefetch.with.clients_4",
            "app.prefetch.wrong",
        ],
        measure: prefetch::measure,
    },
    Bar {
        names: &["coherent.map_unexplained", "coherent.map_accesses"],
        measure: coherent_map::measure,
    },
    Bar {
        names: &[
            "coherent.shell_unexplained",
            "coherent.shell_kernel_updates",
        ],
        measure: coherent_map::in_the_shell,
    },
    Bar {
        names: &[
            "coherent.host_load_ns",
            "coherent.host_store_ns",
            "coherent.host_hit_ns",
            "coherent.host_unexplained",
            "coherent.host_kernel_updates",
        ],
        measure: coherent_map::of_the_cpu,
    },
    Bar {
        names: &[
            "app.shared_table.mrows_s.0",
            "app.shared_table.mrows_s.1",
            "app.shared_table.mrows_s.2",
            "app.shared_table.mrows_s.5",
            "app.shared_table.mrows_s.10",
            "app.shared_table.mrows_s.25",
            "app.shared_table.mrows_s.50",
            "app.shared_table.mrows_s.75",
            "app.shared_table.mrows_s.100",
            "app.shared_table.off_closed_form",
            "app.shared_table.wrong",
        ],
        measure: shared_table::measure,
    },
    Bar {
        names: snapshot::NAMES,
        measure: snapshot::measure,
    },
    Bar {
        names: work_queue::NAMES,
        measure: work_queue::measure,
    },
    Bar {
        names: &[
            "app.view.share_of_link.100",
            "app.view.share_of_link.1000",
            "app.view.share_of_link.2500",
            "app.view.share_of_link.10000",
            "app.view.share_of_link.50000",
            "app.view.anew_ns.100",
            "app.view.anew_cycles.100",
            "app.view.anew_ns.1000",
            "app.view.anew_cycles.1000",
            "app.view.anew_ns.10000",
            "app.view.anew_cycles.10000",
            "app.view.wrong",
        ],
        measure: view::measure,
    },
    Bar {
        names: &[
            "app.rpc_lines.share_of_link.1",
            "app.rpc_lines.share_of_link.10",
            "app.rpc_lines.share_of_link.100",
            "app.rpc_lines.share_of_link.1000",
            "app.rpc_lines.share_of_link.2000",
            "app.rpc_lines.checksum_share.1",
            "app.rpc_lines.checksum_share.10",
            "app.rpc_lines.checksum_share.100",
            "app.rpc_lines.checksum_share.1000",
            "app.rpc_lines.checksum_share.2000",
            "app.rpc_lines.echo_share.1",
            "app.rpc_lines.echo_share.10",
            "app.rpc_lines.echo_share.100",
            "app.rpc_lines.echo_share.1000",
            "app.rpc_lines.echo_share.2000",
            "app.rpc_lines.wrong",
        ],
        measure: rpc_lines::measure,
    },
    Bar {
        names: &[
            "app.rpc_contexts.mcalls_s.1",
            "app.rpc_contexts.mcalls_s.2",
            "app.rpc_contexts.mcalls_s.4",
            "app.rpc_contexts.mcalls_s.8",
            "app.rpc_contexts.mcalls_s.16",
            "app.rpc_contexts.mcalls_s.32",
            "app.rpc_contexts.wrong",
        ],
        measure: rpc::several_contexts,
    },
    Bar {
        names: &[
            "app.rpc.pushed_ns",
            "app.rpc.ns",
            "app.rpc.ns_p1",
            "app.rpc.ns_p99",
            "app.rpc.read_ns",
            "app.rpc.reads",
            "app.rpc.wrong",
            "coherent.sim_khz",
        ],
        measure: rpc::measure,
    },
    Bar {
        names: &[
            "cckit.table2.two_cpus_ns",
            "cckit.table2.onchip_ns",
            "cckit.table2.ddr_ns",
        ],
        measure: cckit::latencies,
    },
    Bar {
        names: &[
            "cckit.figure6.two_cpus.seq_read",
            "cckit.figure6.onchip.seq_read",
            "cckit.figure6.two_cpus.rand_read",
            "cckit.figure6.onchip.rand_read",
            "cckit.figure6.two_cpus.seq_write",
            "cckit.figure6.onchip.seq_write",
            "cckit.figure6.two_cpus.rand_write",
            "cckit.figure6.onchip.rand_write",
            "cckit.figure6.onchip_vs_two_cpus",
            "cckit.figure6.ddr.seq_read",
            "cckit.figure6.ddr.rand_read",
            "cckit.figure6.ddr.seq_write",
            "cckit.figure6.ddr.rand_write",
        ],
        measure: cckit::streams,
    },
    Bar {
        names: &[
            "cckit.repro.onchip_ns",
            "cckit.repro.ddr_ns",
            "cckit.repro.rpc_ns",
            "cckit.repro.prefetch_with",
            "cckit.repro.prefetch_without",
        ],
        measure: cckit::reproduction,
    },
    Bar {
        names: &[
            "cckit.figure6.ddr.seq_read.ids_64",
            "cckit.figure6.ddr.rand_read.ids_64",
            "cckit.figure6.ddr.seq_write.ids_64",
            "cckit.figure6.ddr.rand_write.ids_64",
        ],
        measure: cckit_varied::more_ids,
    },
    Bar {
        names: &[
            "cckit.figure6.ddr.rand_write.faw_16",
            "cckit.figure6.ddr.rand_write.faw_16.ids_64",
        ],
        measure: cckit_varied::short_faw,
    },
    Bar {
        names: &[
            "cckit.figure6.ddr.seq_read.line_in_a_page",
            "cckit.figure6.ddr.rand_read.line_in_a_page",
            "cckit.figure6.ddr.seq_write.line_in_a_page",
            "cckit.figure6.ddr.rand_write.line_in_a_page",
            "cckit.figure6.ddr.seq_read.line_in_a_page.ids_64",
            "cckit.figure6.ddr.rand_read.line_in_a_page.ids_64",
            "cckit.figure6.ddr.seq_write.line_in_a_page.ids_64",
            "cckit.figure6.ddr.rand_write.line_in_a_page.ids_64",
            "cckit.figure6.ddr.rand_write.line_in_a_page.faw_16.ids_64",
        ],
        measure: cckit_varied::line_in_a_page,
    },
    Bar {
        names: &[
            "cckit.figure6.corrected.seq_read",
            "cckit.figure6.corrected.rand_read",
            "cckit.figure6.corrected.seq_write",
            "cckit.figure6.corrected.rand_write",
        ],
        measure: cckit_varied::corrected,
    },
    Bar {
        names: &[
            "app.prefetch.without.clients_4.ids_64",
            "app.prefetch.with.clients_4.ids_64",
        ],
        measure: cckit_varied::prefetch_with_more_ids,
    },
    Bar {
        names: &[
            "cckit.repro.prefetch_without.vendors_controller",
            "cckit.repro.prefetch_with.vendors_controller",
            "cckit.repro.prefetch_gain.vendors_controller",
            "cckit.repro.prefetch_without.vendors_defaults",
            "cckit.repro.prefetch_with.vendors_defaults",
            "cckit.repro.prefetch_gain.vendors_defaults",
        ],
        measure: cckit_varied::vendors_controller,
    },
    Bar {
        names: &[
            "app.rpc_baseline.pio_word_ns",
            "app.rpc_baseline.pio_line_ns",
            "app.rpc_baseline.dma_least_ns",
            "app.rpc_baseline.faster_than_pio",
            "app.rpc_baseline.faster_than_dma",
        ],
        measure: rpc::baselines,
    },
    Bar {
        names: &[
            "cckit.figure7.two_cpus.0",
            "cckit.figure7.two_cpus.1",
            "cckit.figure7.two_cpus.2",
            "cckit.figure7.two_cpus.5",
            "cckit.figure7.two_cpus.10",
            "cckit.figure7.two_cpus.25",
            "cckit.figure7.two_cpus.50",
            "cckit.figure7.two_cpus.75",
            "cckit.figure7.two_cpus.100",
        ],
        measure: cckit::contended_cpus,
    },
    Bar {
        names: &[
            "coherent.store_ns",
            "coherent.buffered_store_ns",
            "coherent.word_store_ns",
            "coherent.word_store_ns.without_merging",
        ],
        measure: rpc::stores,
    },
    Bar {
        names: &["cckit.lab_minutes"],
        measure: cckit::lab_minutes,
    },
    Bar {
        names: &["slots.shapes"],
        measure: slots::measure,
    },
    Bar {
        names: &["sim.copy4_khz", "sim.copy4_bytes_per_cycle"],
        measure: speed::measure_four,
    },
    Bar {
        names: &[
            "walk.random4k.share_of_bound",
            "walk.random4k.share_of_bound_one_channel",
            "walk.random4k.share_of_bound_table_apart",
        ],
        measure: walk::random4k,
    },
    Bar {
        names: &["walk.reads_per_walk"],
        measure: walk::reads_per_walk,
    },
    Bar {
        names: &[
            "axi.random_mismatches",
            "axi.random_bursts",
            "axi.random_faults",
            "axi.random_evictions",
            "axi.functional_mismatches",
        ],
        measure: axi::measure,
    },
    Bar {
        names: &[
            "memory.self_consistency.f1",
            "memory.self_consistency.u280",
            "memory.self_consistency.u55c",
            "memory.self_consistency",
        ],
        measure: memory_model::measure,
    },
    Bar {
        names: &[
            "memory.dramsim3_error.f1",
            "memory.dramsim3_error.u280",
            "memory.dramsim3_error.u55c",
            "memory.dramsim3_error.enzian",
            "memory.dramsim3_error",
        ],
        measure: memory_model::dramsim3::measure,
    },
    Bar {
        names: &[
            "synth.port.lut",
            "synth.port.ff",
            "synth.port.bram36",
            "synth.port.levels",
            "synth.park.lut",
            "synth.park.ff",
            "synth.park.bram36",
            "synth.park.levels",
            "synth.l1_tlb.lut",
            "synth.l1_tlb.ff",
            "synth.l1_tlb.bram36",
            "synth.l1_tlb.levels",
            "synth.lane.lut",
            "synth.lane.ff",
            "synth.lane.bram36",
            "synth.lane.levels",
            "synth.walker.lut",
            "synth.walker.ff",
            "synth.walker.bram36",
            "synth.walker.levels",
            "synth.table_engine.lut",
            "synth.table_engine.ff",
            "synth.table_engine.bram36",
            "synth.table_engine.levels",
            "synth.invalidate.lut",
            "synth.invalidate.ff",
            "synth.invalidate.bram36",
            "synth.invalidate.levels",
            "synth.dma.lut",
            "synth.dma.ff",
            "synth.dma.bram36",
            "synth.dma.levels",
            "synth.fabric.lut",
            "synth.fabric.ff",
            "synth.fabric.bram36",
            "synth.fabric.levels",
            "synth.shell.lut",
            "synth.shell.ff",
            "synth.shell.bram36",
            "synth.shell.levels",
            "synth.shell.levels_by_levels",
            "synth.latches",
            "synth.warnings",
        ],
        measure: synthesis::measure,
    },
    Bar {
        names: &[
            "synth.lanes.1.lut",
            "synth.lanes.1.ff",
            "synth.lanes.2.lut",
            "synth.lanes.2.ff",
            "synth.lanes.4.lut",
            "synth.lanes.4.ff",
            "synth.lanes.8.lut",
            "synth.lanes.8.ff",
            "synth.lanes.16.lut",
            "synth.lanes.16.ff",
            "synth.lanes.32.lut",
            "synth.lanes.32.ff",
        ],
        measure: synthesis::measure_lanes,
    },
    Bar {
        names: &[
            "synth.scheduler.lut",
            "synth.scheduler.ff",
            "synth.virtual_io.lut",
            "synth.virtual_io.ff",
        ],
        measure: synthesis::measure_vfpio,
    },
    Bar {
        names: &[
            "synth.fsrf_tlbs.lut",
            "synth.fsrf_tlbs.ff",
            "synth.fsrf_tlbs.bram36",
        ],
        measure: synthesis::measure_fsrf,
    },
    Bar {
        names: &[
            "synth.fleximem_tlb.32k.lut",
            "synth.fleximem_tlb.32k.ff",
            "synth.fleximem_tlb.256k.lut",
            "synth.fleximem_tlb.256k.ff",
            "synth.fleximem_tlb.2m.lut",
            "synth.fleximem_tlb.2m.ff",
        ],
        measure: synthesis::measure_fleximem,
    },
    Bar {
        names: &["synth.ecp5_fmax.l1_tlb", "synth.ecp5_fmax.fabric_stripe"],
        measure: synthesis::measure_fmax,
    },
    Bar {
        names: &["pager.random_events"],
        measure: pager::measure,
    },
    Bar {
        names: &["pager.instructions_per_fault"],
        measure: pager::instructions,
    },
    Bar {
        names: &[
            "pager.exhaustive_pairs",
            "pager.exhaustive_moves",
            "pager.exhaustive_interleavings",
            "pager.exhaustive_steps",
            "pager.exhaustive_violations",
        ],
        measure: pager::exhaustive,
    },
    Bar {
        names: &[
            "protocol.mesi.directory_states",
            "protocol.mesi.directory_transitions",
            "protocol.mesi.messages",
            "protocol.mesi3.check_s",
            "protocol.mesi3.processor_s",
            "protocol.states_per_s",
            "protocol.mesi_shared_way.check_s",
            "protocol.esi.check_s",
            "protocol.rumur_agrees",
            "protocol.mutants_survived",
            "protocol.mutants_killed_fewest",
        ],
        measure: protocol::measure,
    },
    Bar {
        names: &[
            "protocol.moesi3.check_s",
            "protocol.moesi.mutants_survived",
            "protocol.moesi.mutants_killed",
            "protocol.moesi.rumur_agrees",
        ],
        measure: protocol::owners,
    },
    Bar {
        names: &[
            "formal.queue_fifo1.proved",
            "formal.queue_fifo1.depth",
            "formal.queue_fifo3.proved",
            "formal.queue_fifo3.depth",
            "formal.queue_fall_through.proved",
            "formal.queue_fall_through.depth",
            "formal.queue_output_register.proved",
            "formal.queue_output_register.depth",
            "formal.queue_spill.proved",
            "formal.queue_spill.depth",
            "formal.round_robin.proved",
            "formal.round_robin.depth",
            "formal.round_robin5.proved",
            "formal.round_robin5.depth",
            "formal.dma_first.proved",
            "formal.dma_first.depth",
            "formal.port_write_bursts.proved",
            "formal.port_write_bursts.depth",
            "formal.port_write_answers.proved",
            "formal.port_write_answers.depth",
            "formal.port_write_fabric.proved",
            "formal.port_write_fabric.depth",
            "formal.port_write_rest.proved",
            "formal.port_write_rest.depth",
            "formal.port_read_bursts.proved",
            "formal.port_read_bursts.depth",
            "formal.slot_guard.proved",
            "formal.slot_guard.depth",
            "formal.port_guard.proved",
            "formal.port_guard.depth",
            "formal.slot_reset.proved",
            "formal.slot_reset.depth",
            "formal.invalidate.proved",
            "formal.invalidate.depth",
            "formal.mutants_refuted",
            "formal.mutants_survived",
        ],
        measure: formal::measure,
    },
    Bar {
        names: &[
            "cache_controller.load_latency_ns",
            "cache_controller.store_latency_ns",
            "cache_controller.hit_latency_ns",
            "cache_controller.hit_loads_per_cycle",
            "cache_controller.hit_stores_per_cycle",
            "cache_controller.miss_share_of_link",
        ],
        measure: cache_controller::measure,
    },
    Bar {
        names: &[
            "cache_controller.random_ops_unexplained",
            "cache_controller.random_ops",
            "cache_controller.random_increments",
            "cache_controller.random_lost",
        ],
        measure: cache_controller::random,
    },
    Bar {
        names: &[
            "cache_controller.mutants",
            "cache_controller.mutants_survived",
        ],
        measure: cache_controller::mutants,
    },
    Bar {
        names: &[
            "directory.latency_ns",
            "directory.read_ns",
            "directory.two_cpus_read_ns",
            "directory.vs_two_cpus",
        ],
        measure: directory::latencies,
    },
    Bar {
        names: &[
            "directory.seq_read.share_of_link",
            "directory.rand_read.share_of_link",
            "directory.seq_write.share_of_link",
            "directory.rand_write.share_of_link",
            "directory.rand_write.share_of_link.without_evict_ahead",
            "directory.write.most_of_link",
        ],
        measure: directory::streams,
    },
    Bar {
        names: &[
            "directory.axi_300ns.ids_32.link",
            "directory.axi_300ns.ids_32.fast_link",
            "directory.axi_300ns.ids_64.link",
            "directory.axi_300ns.ids_64.fast_link",
            "directory.wide_ids.random_ops",
            "directory.wide_ids.random_ops_unexplained",
        ],
        measure: directory::request_numbers,
    },
    Bar {
        names: &[
            "directory.model.no_evict_ahead.rand_read",
            "directory.model.no_evict_ahead.rand_write",
            "directory.model.no_jitter.rand_read",
            "directory.model.no_jitter.rand_write",
            "directory.model.jitter_60_ns.rand_read",
            "directory.model.jitter_60_ns.rand_write",
            "directory.model.transmit_one_line.rand_read",
            "directory.model.transmit_one_line.rand_write",
            "directory.model.half_credits.rand_read",
            "directory.model.half_credits.rand_write",
        ],
        measure: directory::choices,
    },
    Bar {
        names: &[
            "directory.clean_invalidate_mlines_s",
            "directory.clean_invalidate_shared_lines",
            "directory.clean_invalidate_dirty.share_of_link",
            "directory.clean_invalidate_ns",
        ],
        measure: directory::invalidations,
    },
    Bar {
        names: &[
            "directory.random_ops",
            "directory.random_ops_64_units",
            "directory.random_ops_unexplained",
        ],
        measure: directory::random_operations,
    },
    Bar {
        names: &["directory.sim_khz"],
        measure: directory::speed,
    },
    Bar {
        names: &["directory.rtl_mutants", "directory.rtl_mutants_survived"],
        measure: directory::mutants,
    },
    Bar {
        names: &[
            "synth.directory.lut",
            "synth.directory.lut_percent_of_vu9p",
            "synth.directory.ff",
            "synth.directory.bram36",
            "synth.directory.path_levels",
            "synth.directory.latches",
            "synth.directory.warnings",
        ],
        measure: directory::synthesis,
    },
    Bar {
        names: &[
            "stranger.internal_errors",
            "stranger.command_lines",
            "stranger.other_files_changed",
        ],
        measure: command::internal_errors,
    },
    Bar {
        names: daemon::ENDS,
        measure: daemon::ends,
    },
    Bar {
        names: daemon::ENDS_ON_RTL,
        measure: daemon::ends_on_rtl,
    },
    Bar {
        names: daemon::FAIRNESS,
        measure: daemon::fairness,
    },
    Bar {
        names: daemon::APPLICATIONS,
        measure: daemon::applications,
    },
    Bar {
        names: daemon::REPLAY,
        measure: daemon::replay,
    },
    Bar {
        names: daemon::RIGHTS,
        measure: daemon::rights,
    },
    Bar {
        names: daemon::COSTS,
        measure: daemon::costs,
    },
    Bar {
        names: serve::NAMES,
        measure: serve::silent_clients,
    },
    Bar {
        names: cache::NAMES,
        measure: cache::builds_deleted,
    },
    Bar {
        names: cases::NAMES,
        measure: cases::measure,
    },
    Bar {
        names: &["stranger.interrupt_s"],
        measure: command::interrupt,
    },
    Bar {
        names: &[
            "stranger.sweep_mismatches",
            "stranger.sweep_runs_functional",
            "stranger.sweep_runs_rtl",
            "stranger.sweep_plants_missed",
        ],
        measure: stranger::measure,
    },
    Bar {
        names: &["python.stubs", "python.undocumented"],
        measure: languages::stubs,
    },
    Bar {
        names: guest::SIGNALS,
        measure: guest::signals,
    },
    Bar {
        names: guest::LEAKS,
        measure: guest::leaks,
    },
    Bar {
        names: pcie::PROGRAMS,
        measure: pcie::programs,
    },
    Bar {
        names: pcie::KILLED,
        measure: pcie::killed,
    },
    Bar {
        names: pcie::OVERLAP,
        measure: pcie::overlap,
    },
    Bar {
        names: pcie::SOCKET,
        measure: pcie::socket_kills,
    },
    Bar {
        names: pcie::MUTANTS,
        measure: pcie::mutants,
    },
    Bar {
        names: &[
            "languages.drop_order",
            "languages.drop_order_wrong",
            "languages.drop_order_leaks",
        ],
        measure: languages::drop_order,
    },
    Bar {
        names: &["python.overhead", "python.run_us", "python.run_in_rust_us"],
        measure: languages::overhead,
    },
    Bar {
        names: &["python.first_run_s", "python.first_run_simulated_s"],
        measure: languages::first_run,
    },
    Bar {
        names: &[
            "first.wheel_seconds",
            "first.wheel_megabytes",
            "first.wheel_pythons",
        ],
        measure: first::measure,
    },
    Bar {
        names: &["first.to_run_megabytes"],
        measure: first::to_run,
    },
    Bar {
        names: &[
            "c.conformance",
            "c.conformance.programs",
            "c.conformance.compilers",
        ],
        measure: languages::conformance,
    },
    Bar {
        names: &["rtl.mutants", "rtl.mutants_count", "rtl.mutants_minutes"],
        measure: mutants::measure,
    },
    Bar {
        names: &[
            "html.page_bytes",
            "html.console_errors",
            "html.fetched",
            "html.too_wide",
        ],
        measure: html::measure,
    },
    Bar {
        names: docs::NAMES,
        measure: docs::measure,
    },
    Bar {
        names: advice::NAMES,
        measure: advice::measure,
    },
    Bar {
        names: &["demo.identical", "demo.speedup", "demo.wall_s"],
        measure: demo::measure,
    },
];
