//! Assembly of a card from its options: the shell's models, its surroundings, and the engine that joins them.

use super::super::config::Translator;
use super::super::engine::{ClockDomain, Engine, Parts};
use super::super::link_port::LinkPort;
use super::super::memory_port::MemoryPort;
use super::super::model::{Instance, Model};
use super::super::network_port::NetworkPort;
use super::super::options::{SimOptions, WaveStart, SHELL};
use super::super::store::Store;
use super::super::trace::Probe;
use super::designs::{monolithic_design, shell_design};
use super::probe::say_card;
use crate::error::not_built;
use card::memories::CardMemory;
use card::{CardDescription, CardError};
use std::rc::Rc;
use timing::dram::Controller;
use timing::pcie::PcieLink;
use verilated::{BuildError, Builder, BuiltModel, Design, ProgressSink};

/// An assembled card, before its reset.
pub(super) struct Assembly {
    pub(super) description: CardDescription,
    pub(super) engine: Engine,
    pub(super) model: Rc<Model>,
}

/// The builder of models that the options name, or that of the installation.
pub(super) fn locate_builder(options: &SimOptions) -> Result<Builder, CardError> {
    match &options.builder {
        Some(builder) => Ok(builder.clone()),
        None => Builder::locate().map_err(not_built),
    }
}

/// Builds the shell's models, or finds them in the cache, and joins them with their surroundings.
pub(super) fn assemble(
    options: &SimOptions,
    builder: &Builder,
    progress: &mut ProgressSink<'_>,
) -> Result<Assembly, CardError> {
    // Refusals of the configuration come before long builds.
    let description = describe(options)?;
    let (model, shell) = start_shell(options, builder, progress)?;
    let witness = match options.witness {
        true => Some(start_witness(options, builder, progress)?),
        false => None,
    };
    let parts = parts(options, shell, witness)?;
    say_card(&parts.shell, &description).map_err(not_built)?;
    Ok(Assembly {
        description,
        engine: Engine::new(parts)?,
        model,
    })
}

fn design_of(options: &SimOptions, builder: &Builder) -> Result<Design, CardError> {
    match &options.monolithic {
        Some(kernel) => monolithic_design(options, builder, kernel),
        None => shell_design(options),
    }
    .map_err(not_built)
}

fn build(
    builder: &Builder,
    design: &Design,
    progress: &mut ProgressSink<'_>,
) -> Result<BuiltModel, CardError> {
    builder
        .model(design, &|_| Ok(()), progress)
        .map_err(not_built)
}

/// The model of the shell alone, without waveforms.
pub(super) fn build_shell(
    options: &SimOptions,
    builder: &Builder,
    progress: &mut ProgressSink<'_>,
) -> Result<BuiltModel, CardError> {
    build(
        builder,
        &shell_design(options).map_err(not_built)?,
        progress,
    )
}

/// The shell, with its waveforms.
fn start_shell(
    options: &SimOptions,
    builder: &Builder,
    progress: &mut ProgressSink<'_>,
) -> Result<(Rc<Model>, Instance), CardError> {
    let design = design_of(options, builder)?;
    let period = options.platform.clock().period_ps;
    let waves = options.waves.as_ref().filter(|waves| waves.shell);
    let shell_builder = waves.map_or_else(|| builder.clone(), |_| builder.with_waves());
    let built = build(&shell_builder, &design, progress)?;
    let model = Model::load(&built).map_err(not_built)?;
    let mut shell = Instance::new(&model).map_err(not_built)?;
    if let Some(waves) = waves {
        shell
            .open_waves(&waves.wave_file(SHELL, period, None))
            .map_err(not_built)?;
    }
    Ok((model, shell))
}

/// The shell with its assertions, which is compared with the other at every edge.
fn start_witness(
    options: &SimOptions,
    builder: &Builder,
    progress: &mut ProgressSink<'_>,
) -> Result<Instance, CardError> {
    let asserting = SimOptions {
        asserting: true,
        ..options.clone()
    };
    let built = build(builder, &design_of(&asserting, builder)?, progress)?;
    Instance::new(&Model::load(&built).map_err(not_built)?).map_err(not_built)
}

/// The engine's components around a shell.
fn parts(
    options: &SimOptions,
    shell: Instance,
    witness: Option<Instance>,
) -> Result<Parts, CardError> {
    let config = &options.shell;
    let clock = options.platform.clock();
    let memories = memories(options, &shell)?;
    let probes = match &options.timeline {
        Some(timeline) => Probe::all(timeline, &shell, config).map_err(not_built)?,
        None => Vec::new(),
    };
    let coherent = match (config.directory, options.platform.coherent()) {
        (Some(_), Some(platform)) => {
            Some(LinkPort::new(&shell, config, platform, clock.period_ps)?)
        }
        _ => None,
    };
    let networks = (0..u32::from(config.network_pairs))
        .map(|interface| NetworkPort::new(&shell, interface, options.network.figures()))
        .collect::<Result<_, BuildError>>()
        .map_err(not_built)?;
    let waves = options.waves.as_ref();
    Ok(Parts {
        clock: ClockDomain {
            period: clock.period_ps,
            phase: clock.phase_ps,
        },
        shell,
        witness,
        slots: config.slots.into(),
        ports_per_slot: config.ports_per_slot.into(),
        pairs_per_slot: config.streams_per_slot.into(),
        slices: config.slices().into(),
        caches: config.caches().into(),
        coherent,
        memories,
        networks,
        probes,
        link: Box::new(PcieLink::new(options.platform.pcie())),
        idle_skipping: options.idle_skipping,
        monolithic: options.monolithic.is_some(),
        seeks_activity: waves.is_some_and(|waves| waves.from == WaveStart::FirstActivity),
    })
}

/// The controllers of the memory channels.
fn memories(options: &SimOptions, shell: &Instance) -> Result<Vec<MemoryPort>, CardError> {
    let mut ports = Vec::new();
    for (memory, timing) in options.memories()? {
        let channel_bytes = memory.channel_bytes;
        for channel in memory.channels.clone().map(u32::from) {
            let store = Store::new(channel_bytes).map_err(|error| {
                CardError::Configuration(format!(
                    "cannot reserve {channel_bytes} bytes of address space for memory channel \
                     {channel}: {error}; give the card less memory (--card-memory, \
                     SimOptions::channel_bytes), or this process more address space (ulimit -v)"
                ))
            })?;
            let model = Box::new(Controller::new(timing));
            ports.push(MemoryPort::new(shell, channel, store, model).map_err(not_built)?);
        }
    }
    Ok(ports)
}

fn describe(options: &SimOptions) -> Result<CardDescription, CardError> {
    let config = &options.shell;
    let memories = options.memories()?.into_iter();
    let memories: Vec<CardMemory> = memories.map(|(memory, _)| memory).collect();
    let channel_bytes = memories.iter().map(|memory| memory.channel_bytes).min();
    Ok(CardDescription {
        name: format!("sim:{}", options.platform.name()),
        slots: config.slots,
        ports_per_slot: config.ports_per_slot,
        streams_per_slot: config.streams_per_slot,
        network_pairs: config.network_pairs,
        tid_width: config.tid_width,
        tdest_width: config.tdest_width,
        channels: config.channels,
        channel_bytes_log2: config.channel_bytes_log2,
        channel_bytes: channel_bytes.unwrap_or(0),
        memories,
        spaces: config.spaces,
        queues: config.queues,
        translated: config.translator != Translator::Identity,
        page_sizes: config.page_sizes(),
        l1_sizes: config.l1_sizes(),
        l1_reach: config.l1_reach(),
        table_walks: config.max_walks > 0,
        clock_period: options.platform.clock().period_ps,
        host_channel: config.host_channel,
    })
}
