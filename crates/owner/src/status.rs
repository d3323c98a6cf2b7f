//! Status of the owner: per-client reports, and the objects of each client.

use super::clients::Clients;
use super::clients::Moment;
use super::handles::Handles;
use super::kernels::Kernels;
use super::paging::Paging;
use super::rooms::{progress, Room};
use super::tenants::Tenants;
use super::OwnerOptions;
use super::Tenant;
use crate::message::ClientId;
use crate::report::{Report, Setup, SpaceReport};
use error::Error;
use pager::SpaceStatistics;
use std::collections::BTreeSet;
use std::sync::Arc;
use timing::host::HostFile;
use units::{Asid, PageSize, PageSizes, SlotId};
use wire::{ClientPaging, ClientStatus, DaemonStatus, OwnerStatus, SlotStatus, Status};

/// Reports, and the records for them.
#[derive(Clone)]
pub(super) struct Reports {
    pub(super) options: Arc<OwnerOptions>,
    pub(super) handles: Room<Handles>,
    pub(super) tenants: Room<Tenants>,
    pub(super) clients: Room<Clients>,
    pub(super) paging: Room<Paging>,
    pub(super) kernels: Room<Kernels>,
}

impl Reports {
    /// Marks a client as served over a socket: its reports cover itself alone.
    pub(super) fn keep_apart(
        &self,
        client: ClientId,
        tenant: Option<Arc<Tenant>>,
    ) -> Result<(), Error> {
        let counted = self.kernels.lend(|kernels| kernels.statistics())?;
        let came = Moment {
            now: progress(&self.paging, &self.kernels).now,
            fault_time: self.paging.lend(|paging| paging.fault_time()),
            counted,
        };
        self.clients
            .lend(|clients| clients.keep_apart(client, came));
        if let Some(tenant) = tenant {
            self.tenants.lend(|tenants| tenants.add(client, tenant));
        }
        Ok(())
    }

    /// Drops the records of a client that has ended and sends no more requests.
    pub(super) fn forget_client(&self, client: ClientId) {
        let labels = self.clients.lend(|clients| clients.forget(client));
        self.paging.lend(|paging| {
            for label in labels {
                paging.forget_paging(&label);
            }
            paging.forget_client(client);
        });
        self.handles.lend(|handles| handles.forget(client));
        self.tenants.lend(|tenants| tenants.forget(client));
    }

    /// Where the time of all kernels went.
    ///
    /// # Errors
    /// Those of reading the card's counters.
    pub(super) fn report(&self) -> Result<Report, Error> {
        self.clients.lend(|clients| {
            self.paging.lend_with(&self.kernels, |paging, kernels| {
                report(&self.options, clients, paging, kernels)
            })
        })
    }

    /// Where the time of a client's kernels went. Counts of the card as a whole (channels, the link, the host, virtual
    /// time with an access waiting) cover all clients since this one joined; everything else covers this client.
    ///
    /// # Errors
    /// As [`report`](Self::report).
    pub(super) fn report_of(&self, client: ClientId) -> Result<Report, Error> {
        let report = self.report()?;
        let held = self.handles.lend(|handles| Held {
            asids: handles.asids(client).collect(),
            slots: handles.slots(client).collect(),
        });
        Ok(self.clients.lend(|clients| {
            self.paging.lend_with(&self.kernels, |paging, kernels| {
                report_of(client, report, held, clients, (paging, kernels))
            })
        }))
    }

    /// Clients that own an object, and connected ones that have had a space: their counts do not end with it.
    fn clients(&self) -> BTreeSet<ClientId> {
        let mut counted = self.paging.lend(|paging| paging.clients());
        self.clients
            .lend(|clients| counted.retain(|client| clients.is_apart(*client)));
        self.handles.lend(|handles| {
            counted.retain(|client| handles.check_open(*client).is_ok());
            counted.extend(handles.clients());
        });
        counted
    }

    /// The objects of each client.
    pub(super) fn status(&self) -> Status {
        let clients = self.clients();
        let clients = self.handles.lend(|handles| {
            self.tenants.lend(|tenants| {
                self.paging.lend(|paging| {
                    let clients = clients.into_iter().map(|client| ClientStatus {
                        paging: Some(paging_of(&paging.of_client(client))),
                        ..status_of(client, handles, tenants)
                    });
                    clients.collect()
                })
            })
        });
        let tenants = self.handles.lend(|handles| {
            self.tenants
                .lend(|tenants| self.paging.lend(|paging| tenants.status(handles, paging)))
        });
        let slots = self
            .handles
            .lend(|handles| self.kernels.lend(|kernels| slots(handles, kernels)));
        let now = progress(&self.paging, &self.kernels).now;
        self.kernels.lend(|kernels| {
            let description = kernels.description();
            Status {
                owner: OwnerStatus {
                    card: description.name.clone(),
                    now,
                    slots,
                    spaces: description.spaces,
                    clients,
                    tenants,
                },
                daemon: DaemonStatus::default(),
            }
        })
    }
}

/// See [`Reports::report`].
fn report(
    options: &OwnerOptions,
    clients: &Clients,
    paging: &mut Paging,
    kernels: &mut Kernels,
) -> Result<Report, Error> {
    // Reading the counters takes time.
    let time = kernels.now();
    let statistics = kernels.statistics()?;
    let ports = statistics.requesters.len() / 2;
    let report = Report {
        shares: kernels.shares(&statistics),
        card: kernels.description().clone(),
        setup: setup(options),
        file_io: paging.lanes().name().to_owned(),
        time,
        runs: clients.runs(),
        paging: paging.report(),
        bytes_hash: paging.bytes_hash(),
        notes: notes(kernels, paging, |_| true, |_| true),
        policies: paging.policies(kernels.description(), |_| true),
        spaces: spaces_report(kernels, paging),
        ports: (0..ports)
            .map(|port| kernels.slots().name_of_port(port))
            .collect(),
        statistics,
        not_included: Vec::new(),
    };
    Ok(report.without_invented_time().with_not_included())
}

fn spaces_report(kernels: &Kernels, paging: &Paging) -> Vec<SpaceReport> {
    let all = paging.spaces();
    all.map(|space| {
        let time = kernels.slots().run_time(space.0);
        SpaceReport::new(space, time)
    })
    .collect()
}

fn setup(options: &OwnerOptions) -> Setup {
    Setup {
        platform: options.platform.clone(),
        platform_hash: options.platform_hash.clone(),
        preset: options.preset.clone(),
        preset_chosen: options.preset_chosen.clone(),
        host: host(options, HostFile::name),
        host_hash: host(options, HostFile::hash),
    }
}

/// A property of the host file, if there is one.
fn host(options: &OwnerOptions, what: impl FnOnce(&HostFile) -> &str) -> String {
    options
        .host
        .as_ref()
        .map(what)
        .unwrap_or_default()
        .to_owned()
}

/// Advice to the user, for these files and page sizes.
fn notes(
    kernels: &Kernels,
    paging: &Paging,
    of: impl Fn(&str) -> bool,
    asked: impl Fn(PageSize) -> bool,
) -> Vec<String> {
    let l1 = kernels.description().l1_sizes;
    let slow = paging.page_sizes();
    let slow = slow.filter(|&size| asked(size) && l1 != PageSizes::default() && !l1.contains(size));
    let unlocked = paging.unlocked().filter(|label| of(label));
    let unlocked = unlocked.map(|label| {
        format!(
            "{label} lies on a file system without locks: nothing keeps another process from mapping it for writing at \
             the same time, and one would undo what the other wrote"
        )
    });
    let slow = slow.map(|size| {
        format!(
            "pages of {size} were used, and no L1 TLB has that size: each of its entries serves a smaller \
             part of such a page, so bursts miss more often. The shell has L1 TLBs for {l1}: take pages of \
             such a size, or give the shell an L1 TLB of this one"
        )
    });
    let uncounted = kernels.is_in_real_time().then(|| {
        "what crosses the ports and the memory channels of this card, and how long link and host are busy, is not \
         counted: only a simulated card does"
            .to_owned()
    });
    slow.chain(unlocked).chain(uncounted).collect()
}

/// Spaces and slots that a client has.
struct Held {
    asids: BTreeSet<Asid>,
    slots: BTreeSet<SlotId>,
}

/// See [`Reports::report_of`].
fn report_of(
    client: ClientId,
    report: Report,
    held: Held,
    clients: &Clients,
    (paging, kernels): (&Paging, &Kernels),
) -> Report {
    let mut spaces = report.spaces;
    spaces.retain(|space| held.asids.iter().any(|asid| asid.get() == space.asid));
    let ports = usize::from(kernels.description().ports_per_slot);
    let runs = clients.runs_of(client);
    let ran = runs.iter().map(|run| SlotId(run.slot));
    let slots: BTreeSet<SlotId> = ran.chain(held.slots).collect();
    let until = Moment {
        now: report.time,
        fault_time: report.paging.fault_time,
        counted: report.statistics,
    };
    let part = clients.part_of(client, until, ports);
    let mut shares = report.shares;
    shares.retain(|share| slots.contains(&SlotId(share.slot)));
    Report {
        time: part.now,
        statistics: part.counted,
        runs,
        paging: paging.report_of(client, part.fault_time),
        spaces,
        shares,
        // It would cover the bytes of all clients.
        bytes_hash: String::new(),
        notes: notes(
            kernels,
            paging,
            |label| clients.knows(client, label),
            |size| clients.asked_for(client, size),
        ),
        policies: paging.policies(kernels.description(), |label| clients.knows(client, label)),
        ..report
    }
    .with_not_included()
}

/// The slots and their clients.
fn slots(handles: &Handles, kernels: &Kernels) -> Vec<SlotStatus> {
    let slots = kernels.slots().ids();
    let slots = slots.map(|slot| match kernels.slots().kernel_in(slot) {
        None => SlotStatus::default(),
        Some((kernel, running)) => SlotStatus {
            client: handles.client_in(slot),
            kernel: Some(kernel),
            running,
        },
    });
    slots.collect()
}

fn paging_of(counts: &SpaceStatistics) -> ClientPaging {
    ClientPaging {
        faults: counts.faults,
        bytes_read: counts.bytes_read,
        bytes_written: counts.bytes_written,
    }
}

fn status_of(client: ClientId, handles: &Handles, tenants: &Tenants) -> ClientStatus {
    let ranges: Vec<u64> = handles.ranges(client).collect();
    ClientStatus {
        client,
        process: None,
        user: None,
        program: String::new(),
        tenant: tenants.name_of(client),
        slots: handles.slots(client).collect(),
        spaces: handles.spaces(client).len() as u32,
        mappings: ranges.len() as u32,
        mapped_bytes: ranges.iter().sum(),
        paging: None,
        requests: 0,
    }
}
