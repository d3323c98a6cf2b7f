//! `tombolo status`: use of a daemon's card, once or live, as text, JSON or metrics; and the shape of any card.

use crate::print::{print, NotPrinted};
use crate::rates::Rates;
use card::CardDescription;
use clap::Args;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tombolo::report::bytes;
use tombolo::{
    Card, ClientPaging, ClientStatus, Error, Picoseconds, SlotStatus, Status, TenantStatus, Use,
};

/// Prints the use of a daemon's card by client, or the shape of a card.
#[derive(Args)]
#[command(after_help = "\
Examples:
  Once:
    tombolo status --socket /run/user/1000/tombolo
  Live, every half second:
    tombolo status --socket /run/user/1000/tombolo --watch 0.5
  The shape of a PCI device, to see which kernels fit into its slots:
    tombolo status --card 'vfio:0000:01:00.0?card=card.toml'
  For the node exporter of Prometheus:
    tombolo status --socket /run/user/1000/tombolo --prometheus > /var/lib/node_exporter/tombolo.prom")]
pub(crate) struct ShowStatus {
    /// The daemon's socket.
    #[arg(long, value_name = "FILE", required_unless_present = "card")]
    socket: Option<PathBuf>,

    /// Opens a card by its name and prints its shape: slots, ports, streams, memory, pages.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["socket", "json", "prometheus", "watch"])]
    card: Option<String>,

    /// Prints JSON; with --watch, one line each time.
    #[arg(long, conflicts_with = "prometheus")]
    json: bool,

    /// Prints metrics in the text format of Prometheus.
    #[arg(long)]
    prometheus: bool,

    /// Repeats, until it is interrupted or the daemon ends.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = pause)]
    watch: Option<Duration>,
}

/// Why no status, or no further one, is printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StatusError {
    #[error(transparent)]
    Card(#[from] Error),
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    #[error("{0}")]
    Json(serde_json::Error),
}

/// Parses the time between two outputs.
fn pause(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "write a number of seconds".to_owned())?;
    match (0.05..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("0.05 to 86400 seconds are possible".to_owned()),
    }
}

impl ShowStatus {
    pub(crate) fn run(self) -> Result<(), StatusError> {
        if let Some(name) = &self.card {
            let (description, _) = Card::open(name)?.describe()?;
            return Ok(print(shape(&description))?);
        }
        // clap requires a socket or a card.
        let socket = self.socket.clone().unwrap_or_default();
        let card = Card::open(format!("unix:{}", socket.display()))?;
        let Some(pause) = self.watch else {
            return Ok(print(self.words(&card.status()?, &Rates::default())?)?);
        };
        let clear = std::io::stdout().is_terminal() && !self.json && !self.prometheus;
        let mut rates = Rates::default();
        loop {
            let status = card.status()?;
            rates.observe(&status, Instant::now());
            let words = self.words(&status, &rates)?;
            print(match clear {
                true => format!("\x1b[H\x1b[2J{words}"),
                false => words,
            })?;
            std::thread::sleep(pause);
        }
    }

    fn words(&self, status: &Status, rates: &Rates) -> Result<String, StatusError> {
        let json = match self.watch {
            Some(_) => serde_json::to_string,
            None => serde_json::to_string_pretty,
        };
        match (self.json, self.prometheus) {
            (true, _) => Ok(json(status).map_err(StatusError::Json)? + "\n"),
            (_, true) => Ok(metrics(status)),
            _ => Ok(text(status, rates)),
        }
    }
}

/// The shape of a card: the limits that a kernel must fit into.
fn shape(card: &CardDescription) -> String {
    let memory_ports = card.ports_per_slot.saturating_sub(card.streams_per_slot);
    let host = match card.host_channel {
        true => ", and pages in host memory",
        false => "",
    };
    format!(
        "card {}, shell clock {} ps\n  {} slots, each with {memory_ports} memory ports and {} stream pairs; {} network \
         interfaces\n  {} address spaces, {} command queues\n  {} memory channels of {}{host}\n  pages of {}\n",
        card.name,
        card.clock_period.get(),
        card.slots,
        card.streams_per_slot,
        card.network_pairs,
        card.spaces,
        card.queues,
        card.channels,
        bytes(card.channel_bytes),
        card.page_sizes,
    )
}

fn text(status: &Status, rates: &Rates) -> String {
    let owner = &status.owner;
    let now = match owner.now {
        Picoseconds::ZERO => String::new(),
        now => format!(", virtual time {now}"),
    };
    let mut text = format!(
        "card {}, {} slots, {} address spaces{now}\n",
        owner.card,
        owner.slots.len(),
        owner.spaces,
    );
    let mut line = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {line}");
    };
    for (number, slot) in owner.slots.iter().enumerate() {
        line(of_slot(number, slot));
    }
    for client in &owner.clients {
        line(of_client(client));
        if let Some(paging) = client.paging {
            line(of_paging(client, paging, rates));
        }
    }
    for tenant in &owner.tenants {
        line(of_tenant(tenant));
    }
    let daemon = status.daemon;
    line(format!(
        "daemon {}: {} connections, {} descriptors, {} threads",
        daemon.process, daemon.connections, daemon.descriptors, daemon.threads
    ));
    text
}

fn of_slot(number: usize, slot: &SlotStatus) -> String {
    match (&slot.kernel, slot.client) {
        (Some(kernel), Some(client)) => {
            let does = if slot.running { "runs" } else { "waits" };
            // The daemon hides names of other users' kernels.
            let kernel = match kernel.as_str() {
                "" => "a kernel".to_owned(),
                name => format!("kernel {name}"),
            };
            format!("slot {number}: {kernel} of client {} {does}", client.0)
        }
        _ => format!("slot {number}: empty"),
    }
}

fn of_client(client: &ClientStatus) -> String {
    let who = match client.process {
        Some(process) if client.program.is_empty() => format!("process {process}"),
        Some(process) => format!("{} (process {process})", client.program),
        None => "the daemon".to_owned(),
    };
    let who = match &client.tenant {
        Some(tenant) => format!("{who} of tenant {tenant}"),
        None => who,
    };
    format!(
        "client {}: {who}: {} slots, {} spaces, {} mappings of {} bytes, {} requests under way",
        client.client.0,
        client.slots.len(),
        client.spaces,
        client.mappings,
        client.mapped_bytes,
        client.requests
    )
}

/// A client's paging since it connected, and per second where it is known.
fn of_paging(client: &ClientStatus, paging: ClientPaging, rates: &Rates) -> String {
    let per_second = match rates.of(client.client) {
        Some(rate) => format!(
            "; per second {}, {}, {}",
            rate.faults,
            bytes(rate.bytes_read),
            bytes(rate.bytes_written)
        ),
        None => String::new(),
    };
    format!(
        "  {} faults, {} read, {} written{per_second}",
        paging.faults,
        bytes(paging.bytes_read),
        bytes(paging.bytes_written),
    )
}

/// A tenant's use, with its quota where there is one.
fn of_tenant(tenant: &TenantStatus) -> String {
    let number = |number: u64| number.to_string();
    let beside = |of: Use, shown: &dyn Fn(u64) -> String| match of.most {
        Some(most) => format!("{} of {}", shown(of.used), shown(most)),
        None => shown(of.used),
    };
    format!(
        "tenant {}: {} clients, {} slots, {} spaces, {} mappings, {} of card memory, {} requests under way",
        tenant.name,
        beside(tenant.clients, &number),
        beside(tenant.slots, &number),
        beside(tenant.spaces, &number),
        beside(tenant.mappings, &number),
        beside(tenant.card_bytes, &bytes),
        beside(tenant.requests, &number),
    )
}

/// Writes the values of one metric, after its help and type.
struct Metric<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Metric<'_> {
    fn value(&mut self, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{}{labels} {value}", self.name);
    }
}

/// Escapes the value of a label, by the rules of Prometheus's text format.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// The status in the text format of Prometheus.
pub(crate) fn metrics(status: &Status) -> String {
    let Status { owner, daemon } = status;
    let mut text = String::new();
    let mut metric = |name: &'static str, help: &str, values: &dyn Fn(&mut Metric<'_>)| {
        // By Prometheus' convention only counters have this suffix.
        let kind = match name.ends_with("_total") {
            true => "counter",
            false => "gauge",
        };
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        values(&mut Metric {
            text: &mut text,
            name,
        });
    };
    metric(
        "tombolo_virtual_time_seconds",
        "Virtual time of the card; 0 on a card without time.",
        &|it| it.value(&[("card", &owner.card)], owner.now.get() as f64 / 1e12),
    );
    metric(
        "tombolo_slot_running",
        "1: the kernel of the slot runs; 0: it waits, or the slot is empty.",
        &|it| {
            for (number, slot) in owner.slots.iter().enumerate() {
                let number = number.to_string();
                let client = slot.client.map(|client| client.0.to_string());
                let labels = [
                    ("slot", number.as_str()),
                    ("kernel", slot.kernel.as_deref().unwrap_or_default()),
                    ("client", client.as_deref().unwrap_or_default()),
                ];
                it.value(&labels, u8::from(slot.running));
            }
        },
    );
    let clients = |it: &mut Metric<'_>, of: &dyn Fn(&ClientStatus) -> Option<u64>| {
        for client in &owner.clients {
            let Some(value) = of(client) else {
                continue;
            };
            let number = client.client.0.to_string();
            let process = client.process.map(|process| process.to_string());
            let labels = [
                ("client", number.as_str()),
                ("process", process.as_deref().unwrap_or_default()),
                ("program", client.program.as_str()),
            ];
            it.value(&labels, value);
        }
    };
    metric(
        "tombolo_client_slots",
        "Slots with a kernel of the client.",
        &|it| {
            clients(it, &|client| Some(client.slots.len() as u64));
        },
    );
    metric(
        "tombolo_client_spaces",
        "Address spaces of the client.",
        &|it| {
            clients(it, &|client| Some(client.spaces.into()));
        },
    );
    metric(
        "tombolo_client_mapped_bytes",
        "Bytes of the client's mappings.",
        &|it| {
            clients(it, &|client| Some(client.mapped_bytes));
        },
    );
    metric(
        "tombolo_client_requests",
        "Requests that are not answered yet.",
        &|it| {
            clients(it, &|client| Some(client.requests.into()));
        },
    );
    let paging = |it: &mut Metric<'_>, of: &dyn Fn(ClientPaging) -> u64| {
        clients(it, &|client| client.paging.map(of));
    };
    metric(
        "tombolo_client_faults_total",
        "Accesses of the client's kernels that waited for the host.",
        &|it| paging(it, &|paging| paging.faults),
    );
    metric(
        "tombolo_client_read_bytes_total",
        "Bytes read from files and memory for the client's pages.",
        &|it| paging(it, &|paging| paging.bytes_read),
    );
    metric(
        "tombolo_client_written_bytes_total",
        "Bytes of the client's pages written to files and memory.",
        &|it| paging(it, &|paging| paging.bytes_written),
    );
    let tenants = |it: &mut Metric<'_>, of: &dyn Fn(Use) -> Option<u64>| {
        for tenant in &owner.tenants {
            for (what, there) in [
                ("clients", tenant.clients),
                ("slots", tenant.slots),
                ("spaces", tenant.spaces),
                ("mappings", tenant.mappings),
                ("card_bytes", tenant.card_bytes),
                ("requests", tenant.requests),
            ] {
                if let Some(value) = of(there) {
                    it.value(&[("tenant", tenant.name.as_str()), ("of", what)], value);
                }
            }
        }
    };
    metric("tombolo_tenant_used", "Use by a tenant.", &|it| {
        tenants(it, &|there| Some(there.used));
    });
    metric("tombolo_tenant_quota", "Quota of a tenant.", &|it| {
        tenants(it, &|there| there.most);
    });
    metric(
        "tombolo_daemon_connections",
        "Connections that are open.",
        &|it| {
            it.value(&[], daemon.connections);
        },
    );
    metric(
        "tombolo_daemon_descriptors",
        "Descriptors that are open.",
        &|it| {
            it.value(&[], daemon.descriptors);
        },
    );
    metric("tombolo_daemon_threads", "Threads.", &|it| {
        it.value(&[], daemon.threads)
    });
    text
}
