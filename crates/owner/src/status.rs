//! What the owner says of its clients: a report of one of them, and who has what.

use super::clients::Moment;
use super::owner_ref::OwnerRef;
use super::Owner;
use super::Tenant;
use crate::message::{ClientId, Progress};
use crate::report::{PagingReport, Report, RunReport, SpaceReport};
use error::Error;
use std::collections::BTreeSet;
use std::sync::Arc;
use units::{Asid, SlotId};
use wire::{ClientStatus, DaemonStatus, OwnerStatus, SlotStatus, Status};

impl OwnerRef {
    /// A client is served over a socket: its reports tell of itself alone.
    pub(super) fn keep_apart(
        &self,
        client: ClientId,
        tenant: Option<Arc<Tenant>>,
    ) -> Result<(), Error> {
        self.with(|owner| {
            let counted = owner.kernels.card().statistics()?;
            let came = Moment {
                now: owner.progress().now,
                fault_time: owner.paging.fault_time(),
                counted,
            };
            owner.clients.keep_apart(client, came);
            if let Some(tenant) = tenant {
                owner.tenants.add(client, tenant);
            }
            Ok(())
        })
    }
}

impl Owner {
    /// A client has ended, and no request of it will come.
    pub(super) fn forget_client(&mut self, client: ClientId) {
        for label in self.clients.forget(client) {
            self.paging.forget_paging(&label);
        }
        self.handles.forget(client);
        self.tenants.forget(client);
    }

    /// A run is over; how far things are.
    pub(super) fn ran(&mut self, run: RunReport) -> Progress {
        let slot = SlotId(run.slot);
        self.clients.ran(self.handles.client_in(slot), run);
        self.progress()
    }

    /// Where the time went of a client's kernels. What the card counts as a whole (channels, the link, the host, virtual
    /// time with an access waiting) is of all clients, since this one came; everything else is of this one.
    pub(super) fn report_of(&mut self, client: ClientId) -> Result<Report, Error> {
        let report = self.report()?;
        let asids: BTreeSet<Asid> = self.handles.asids(client).collect();
        let spaces: Vec<SpaceReport> = report
            .spaces
            .into_iter()
            .filter(|space| asids.iter().any(|asid| asid.get() == space.asid))
            .collect();
        let ports = usize::from(self.kernels.description().ports_per_slot);
        let runs = self.clients.runs_of(client);
        let slots: BTreeSet<u8> = runs.iter().map(|run| run.slot).collect();
        let until = Moment {
            now: report.time,
            fault_time: report.paging.fault_time,
            counted: report.statistics,
        };
        let part = self.clients.part_of(client, until, ports);
        let mut paging = PagingReport {
            fault_time: part.fault_time,
            ..PagingReport::default()
        };
        for (asid, counted, _) in self.paging.spaces() {
            if asids.contains(&asid) {
                paging.add(&counted);
            }
        }
        let mut shares = report.shares;
        shares.retain(|share| slots.contains(&share.slot));
        Ok(Report {
            time: part.now,
            statistics: part.counted,
            runs,
            paging,
            spaces,
            shares,
            // Of the bytes of all clients.
            bytes_hash: String::new(),
            notes: self.notes(
                |label| self.clients.knows(client, label),
                |size| self.clients.asked_for(client, size),
            ),
            policies: self.paging.policies(self.kernels.description(), |label| {
                self.clients.knows(client, label)
            }),
            ..report
        })
    }

    /// Who has what.
    pub(super) fn status(&self) -> Status {
        let description = self.kernels.description();
        let slots = (0..description.slots).map(SlotId);
        let slots = slots.map(|slot| match self.kernels.kernel_in(slot) {
            None => SlotStatus::default(),
            Some((kernel, running)) => SlotStatus {
                client: self.handles.client_in(slot),
                kernel: Some(kernel),
                running,
            },
        });
        let clients = self.handles.clients().into_iter();
        let clients = clients.map(|client| self.status_of(client));
        Status {
            owner: OwnerStatus {
                card: description.name.clone(),
                now: self.progress().now,
                slots: slots.collect(),
                spaces: description.spaces,
                clients: clients.collect(),
                tenants: self.tenants(),
            },
            daemon: DaemonStatus::default(),
        }
    }

    fn status_of(&self, client: ClientId) -> ClientStatus {
        let ranges: Vec<u64> = self.handles.ranges(client).collect();
        ClientStatus {
            client,
            process: None,
            user: None,
            program: String::new(),
            tenant: self.tenant_of(client),
            slots: self.handles.slots(client).collect(),
            spaces: self.handles.spaces(client).len() as u32,
            mappings: ranges.len() as u32,
            mapped_bytes: ranges.iter().sum(),
            requests: 0,
        }
    }
}
