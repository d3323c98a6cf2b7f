//! Requests about the kernels in slots: loading, starting, waiting, stopping.

use super::lines::LineRequests;
use crate::clients::Clients;
use crate::handles::Handles;
use crate::kernels::Kernels;
use crate::kernels::{Announced, AnyLook, RunLook, SignalLook};
use crate::message::{
    self, Await, ClientId, Load, LoadId, Poll, PollAny, ReadRegister, RunState, SignalState,
};
use crate::paging::Paging;
use crate::rooms::{progress, Room};
use crate::tasks::Tasks;
use crate::tenants::{Counted, Quotas};
use crate::wait::Waits;
use card::kernel::KernelPackage;
use error::Error;
use pager::Event;
use std::cell::Cell;
use units::{Asid, Picoseconds, SlotId};

/// Interval between two polls of ports that are not at rest, in virtual time.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

/// Maximum time that the end of a mapping waits for accesses of a kernel whose registers its program reads directly.
const SETTLE_TIMEOUT: Picoseconds = Picoseconds::from_millis(100);

/// Requests about the kernels in slots.
#[derive(Clone)]
pub(crate) struct SlotRequests {
    pub(crate) handles: Room<Handles>,
    pub(crate) clients: Room<Clients>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) tasks: Room<Tasks>,
    pub(crate) waits: Waits,
    pub(crate) quotas: Quotas,
    pub(crate) lines: LineRequests,
}

impl SlotRequests {
    pub(crate) async fn load(
        &self,
        client: ClientId,
        request: Load,
        harmless: &Cell<bool>,
    ) -> Result<message::Loaded, Error> {
        let Load {
            slot: wanted,
            kernel,
            space,
        } = request;
        let kernel = *kernel;
        self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                handles.space(client, space)?;
                wanted.map_or(Ok(()), |slot| {
                    kernels.slots_mut().may_load(handles, client, slot)
                })
            })
        })?;
        // A slot that the client already has does not count again towards the quota.
        let is_own = |slot| self.handles.lend(|handles| handles.client_in(slot)) == Some(client);
        let _reserved = match wanted.is_some_and(is_own) {
            true => None,
            false => Some(self.quotas.reserve(client, Counted::Slots)?),
        };
        let limit = self
            .quotas
            .tenants
            .lend(|tenants| tenants.build_time(client));
        // This may take minutes. What was built is in the cache when the card looks for it.
        if let Some(build) = self
            .kernels
            .lend(|kernels| kernels.card().loader()?.preparation(&kernel, limit))
        {
            harmless.set(true);
            self.waits.on_thread("build", build).await?;
            harmless.set(false);
        }
        let slot = match wanted {
            Some(slot) => slot,
            // It is unclaimed, so it is claimed at once.
            None => self.kernels.lend(|kernels| {
                self.tasks
                    .lend(|tasks| kernels.slots().first_empty_slot(tasks))
            })?,
        };
        let _claim = self.waits.claim(slot).await;
        self.handles.lend(|handles| handles.space(client, space))?;
        if self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                kernels.slots_mut().may_load(handles, client, slot)?;
                Ok::<_, Error>(kernels.slots().kernel_in(slot).is_some())
            })
        })? {
            if let Some(error) = self
                .kernels
                .lend(|kernels| kernels.streams().unsettled(slot))
            {
                tracing::warn!(%error, "what a kernel has sent is lost with it");
            }
            self.empty(slot).await?;
        }
        self.kernels
            .lend(|kernels| kernels.slots_mut().put(slot, &kernel))?;
        self.reconfigure(slot, &kernel).await?;
        // It may have ended while the slot was made ready.
        let asid = self.handles.lend(|handles| handles.space(client, space))?;
        self.kernels
            .lend(|kernels| kernels.begin_with(slot, kernel, asid))?;
        let load = self.handles.lend(|handles| handles.add_load(client, slot));
        self.clients.lend(|clients| {
            self.kernels
                .lend(|kernels| clients.loaded(client, slot, || kernels.statistics()))
        })?;
        Ok(message::Loaded { load, slot })
    }

    /// Lets the time of a slot's reconfiguration pass; other slots continue meanwhile. A card comes up with the first
    /// kernel of each slot in place.
    async fn reconfigure(&self, slot: SlotId, kernel: &KernelPackage) -> Result<(), Error> {
        let other = self.paging.lend_with(&self.kernels, |paging, kernels| {
            let other = kernels
                .slots_mut()
                .reconfigure(slot, &kernel.manifest.name)?;
            if other {
                paging.begin_reconfiguration(kernels, slot);
            }
            Ok::<_, Error>(other)
        })?;
        if !other {
            return Ok(());
        }
        let over = || {
            self.kernels
                .lend(|kernels| Ok((!kernels.slots().is_reconfiguring(slot)).then_some(())))
        };
        self.waits.card(over).await
    }

    /// Empties a slot; reports a failure of a run that was not waited for.
    pub(crate) async fn close_slot(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let (slot, space) = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let slot = handles.slot(client, load)?;
                Ok::<_, Error>((slot, kernels.slots_mut().space_of(slot)?))
            })
        })?;
        let unfinished = self.settled(space).await.err();
        let _claim = self.waits.claim(slot).await;
        // Another task may have closed it meanwhile.
        self.handles.slot_of(client, load)?;
        // An error of the kernel on recalled lines is reported, too.
        self.lines.recall_lines(slot).await?;
        let failure = self.kernels.lend(|kernels| {
            let failure = kernels.slots_mut().take_unreported(slot)?;
            let lost = kernels.lost_on_the_way_home(slot)?;
            let unsettled = kernels.streams().unsettled(slot);
            Ok::<_, Error>(failure.or(lost).or(unfinished).or(unsettled))
        })?;
        self.empty(slot).await?;
        failure.map_or(Ok(()), Err)
    }

    /// Stops a slot's activity and removes its kernel. The caller holds the claim on the slot.
    pub(crate) async fn empty(&self, slot: SlotId) -> Result<(), Error> {
        self.handles.lend(|handles| handles.end_load(slot));
        self.rest(slot).await?;
        self.lines.host_lines_home(slot).await?;
        self.kernels.lend(|kernels| kernels.leave(slot))
    }

    /// Holds the slot in reset and drops its pending accesses. The caller holds the claim on the slot.
    pub(crate) async fn rest(&self, slot: SlotId) -> Result<(), Error> {
        self.lines.recall_lines(slot).await?;
        let held = self.paging.lend_with(&self.kernels, |paging, kernels| {
            let held = kernels.hold(slot)?;
            if let Some((space, requesters)) = &held {
                paging.drain(kernels, slot, *space, requesters.clone())?;
            }
            Ok::<_, Error>(held)
        })?;
        let Some((_, requesters)) = held else {
            return Ok(());
        };
        let over = || {
            self.kernels
                .lend(|kernels| Ok((!kernels.slots().is_draining(slot)).then_some(())))
        };
        let result = self.waits.card(over).await;
        self.paging.lend_with(&self.kernels, |paging, kernels| {
            kernels.slots_mut().drained(slot);
            paging.faults_answered(kernels, |token| requesters.contains(&token.requester));
            result?;
            paging.tell(
                kernels,
                Event::SlotStopped {
                    first_requester: *requesters.start(),
                    last_requester: *requesters.end(),
                },
            )
        })
    }

    /// Claims a slot and stops it, if the kernel is still loaded.
    pub(crate) async fn stop(&self, slot: SlotId, load: LoadId) -> Result<(), Error> {
        let _claim = self.waits.claim(slot).await;
        match self.handles.lend(|handles| handles.is_alive(load)) {
            true => self.rest(slot).await,
            // The task that ended it has stopped it.
            false => Ok(()),
        }
    }

    /// The unreported failure of a slot, if there is one. The slot is in reset then.
    pub(crate) async fn fail_if_failed(&self, slot: SlotId) -> Result<(), Error> {
        let failed = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let failure = kernels.slots_mut().take_unreported(slot)?;
                Ok::<_, Error>(failure.map(|failure| (failure, handles.load_in(slot))))
            })
        })?;
        match failed {
            None => Ok(()),
            Some((failure, load)) => {
                if let Some(load) = load {
                    self.stop(slot, load).await?;
                }
                Err(failure)
            }
        }
    }

    /// Starts the kernel.
    pub(crate) async fn start(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let slot_of = || self.handles.slot_of(client, load);
        let _claim = self.waits.claim(slot_of()?).await;
        // It may have been closed meanwhile.
        let slot = slot_of()?;
        self.paging.lend_with(&self.kernels, |paging, kernels| {
            let Some(Announced { space, addresses }) = kernels.make_ready(slot)? else {
                return Ok(());
            };
            for address in addresses {
                let asid = space;
                paging.tell(kernels, Event::Announce { asid, address })?;
            }
            kernels.slots_mut().go(slot)
        })
    }

    /// Stops the kernel of a client.
    pub(crate) async fn stop_load(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let slot = self.handles.slot_of(client, load)?;
        self.stop(slot, load).await
    }

    pub(crate) async fn poll(&self, client: ClientId, request: Poll) -> Result<RunState, Error> {
        let Poll { load, slice } = request;
        let slot = self.handles.slot_of(client, load)?;
        let until = self.kernels.lend(|kernels| {
            kernels.slots_mut().waits_otherwise(slot);
            kernels.now() + slice
        });
        loop {
            // An alarm that has expired would keep the card from working.
            let alarm = self.waits.alarm(
                self.kernels
                    .lend(|kernels| kernels.slots().next_look([slot], until)),
            );
            let seen = self
                .waits
                .card(|| {
                    self.handles.lend(|handles| {
                        self.kernels
                            .lend(|kernels| kernels.slots_mut().look(handles, slot, load, until))
                    })
                })
                .await?;
            drop(alarm);
            match seen {
                RunLook::Settle => self
                    .kernels
                    .lend(|kernels| kernels.slots_mut().settle_run(slot))?,
                RunLook::Failed(error) => {
                    self.stop(slot, load).await?;
                    return Err(error);
                }
                RunLook::Done(run) => {
                    let client = self.handles.lend(|handles| handles.client_in(slot));
                    self.clients.lend(|clients| clients.ran(client, run));
                    return Ok(RunState::Done(progress(&self.paging, &self.kernels)));
                }
                RunLook::SliceOver
                    if self.paging.lend_with(&self.kernels, |paging, kernels| {
                        let quiet = paging.is_quiet(kernels);
                        kernels.still_running(slot, quiet)
                    })? =>
                {
                    return Ok(RunState::Running(progress(&self.paging, &self.kernels)));
                }
                RunLook::SliceOver => {
                    let why = "what it waits for will never come; ";
                    return Err(self.not_done(slot, load, why).await?);
                }
            }
        }
    }

    /// Returns the first of several slots whose run is over, with or without success.
    pub(crate) async fn poll_any(
        &self,
        client: ClientId,
        request: PollAny,
    ) -> Result<Option<usize>, Error> {
        let PollAny { loads, slice } = request;
        let slots = self.handles.lend(|handles| {
            let slot_of = |load| Ok((handles.slot(client, load)?, load));
            let slots = loads.into_iter().map(slot_of);
            slots.collect::<Result<Vec<(SlotId, LoadId)>, Error>>()
        })?;
        let until = self.kernels.lend(|kernels| {
            for (slot, _) in &slots {
                kernels.slots_mut().waits_otherwise(*slot);
            }
            kernels.now() + slice
        });
        let numbers = || slots.iter().map(|(slot, _)| *slot);
        loop {
            let alarm = self.waits.alarm(
                self.kernels
                    .lend(|kernels| kernels.slots().next_look(numbers(), until)),
            );
            let over = self.waits.card(|| {
                self.handles.lend(|handles| {
                    self.kernels.lend(|kernels| {
                        for (place, (slot, load)) in slots.iter().enumerate() {
                            if kernels.slots_mut().is_over(handles, *slot, *load)? {
                                return Ok(Some(AnyLook::Over(place)));
                            }
                        }
                        let due = numbers().find(|slot| kernels.slots().is_to_settle(*slot));
                        let over = kernels.now() >= until;
                        Ok(due
                            .map(AnyLook::Settle)
                            .or(over.then_some(AnyLook::SliceOver)))
                    })
                })
            });
            let over = over.await?;
            drop(alarm);
            match over {
                AnyLook::Over(place) => return Ok(Some(place)),
                AnyLook::Settle(slot) => self
                    .kernels
                    .lend(|kernels| kernels.slots_mut().settle_run(slot))?,
                AnyLook::SliceOver => {
                    return self.paging.lend_with(&self.kernels, |paging, kernels| {
                        let quiet = paging.is_quiet(kernels);
                        kernels.first_unannounced(&slots, quiet)
                    });
                }
            }
        }
    }

    /// Stops a kernel that exceeded its deadline.
    pub(crate) async fn expire(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let slot = self.handles.slot_of(client, load)?;
        match self
            .kernels
            .lend(|kernels| kernels.slots_mut().running_since(slot))?
        {
            Some(_) => Err(self.not_done(slot, load, "").await?),
            None => Ok(()),
        }
    }

    /// Reports that a kernel exceeded its deadline and stops it, unless completion is known only to its program.
    async fn not_done(&self, slot: SlotId, load: LoadId, why: &str) -> Result<Error, Error> {
        let error = self.paging.lend_with(&self.kernels, |paging, kernels| {
            kernels.late(&paging.service().faults_waiting(), slot, why)
        })?;
        if !self
            .kernels
            .lend(|kernels| kernels.slots().is_user_managed(slot))
        {
            self.stop(slot, load).await?;
        }
        Ok(error)
    }

    /// Lets virtual time pass and serves faults until the signal arrives, for at most `slice`.
    pub(crate) async fn await_signal(
        &self,
        client: ClientId,
        request: Await,
    ) -> Result<SignalState, Error> {
        let Await {
            load,
            signal,
            slice,
        } = request;
        let until = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let slot = handles.slot(client, load)?;
                kernels.slots_mut().waits_otherwise(slot);
                Ok::<_, Error>(kernels.now() + slice)
            })
        })?;
        loop {
            // It may have been closed meanwhile.
            let slot = self.handles.slot_of(client, load)?;
            match self
                .kernels
                .lend(|kernels| kernels.slots_mut().look_for(slot, signal, until))?
            {
                SignalLook::Failed(error) => {
                    self.stop(slot, load).await?;
                    return Err(error);
                }
                SignalLook::Seen(value) => return Ok(SignalState::Come(value)),
                SignalLook::Nothing(None) => {
                    return Ok(SignalState::Awaited(progress(&self.paging, &self.kernels)));
                }
                SignalLook::Nothing(Some(next)) => {
                    self.waits.pause(next).await?;
                }
            }
        }
    }

    /// Reads a register for a program. A loop that polls a register must terminate, so pending events (faults and their
    /// answers) are served before the read. Serving takes no virtual time; the reads do, as usual. The first read after
    /// a wait or a start is a plain read.
    pub(crate) async fn read_for_program(
        &self,
        client: ClientId,
        request: ReadRegister,
    ) -> Result<u32, Error> {
        let ReadRegister { load, offset } = request;
        let slot = self.handles.slot_of(client, load)?;
        if self
            .kernels
            .lend(|kernels| kernels.slots_mut().polls(slot))?
        {
            let until = self
                .kernels
                .lend(|kernels| kernels.now() + kernels.slots().step());
            self.waits.pause(until).await?;
            // It may have been closed meanwhile.
            self.handles.slot_of(client, load)?;
            if let Some(error) = self
                .kernels
                .lend(|kernels| kernels.slots_mut().failure_of_polled(slot))?
            {
                self.stop(slot, load).await?;
                return Err(error);
            }
        }
        self.kernels
            .lend(|kernels| kernels.slots_mut().read_raw_register(slot, offset))
    }

    /// Waits until the outstanding accesses of a space's kernels are answered, if their program has read registers
    /// while accesses were under way: it may have read there that the kernels are done.
    pub(crate) async fn settled(&self, asid: Asid) -> Result<(), Error> {
        let begun = self.kernels.lend(|kernels| kernels.now());
        while let Some(slot) = self
            .kernels
            .lend(|kernels| kernels.slots_mut().unsettled_in(asid))?
        {
            let now = self.kernels.lend(|kernels| kernels.now());
            if now - begun > SETTLE_TIMEOUT
                || self
                    .paging
                    .lend_with(&self.kernels, |paging, kernels| paging.is_quiet(kernels))
            {
                // The answer shows the state when it left the card; the accesses may have ended meanwhile.
                return match self
                    .kernels
                    .lend(|kernels| kernels.slots_mut().unsettled_in(asid))?
                {
                    Some(_) => Err(self.paging.lend_with(&self.kernels, |paging, kernels| {
                        kernels.unfinished(&paging.service().faults_waiting(), slot)
                    })?),
                    None => Ok(()),
                };
            }
            self.waits.pause(now + PAUSE).await?;
        }
        Ok(())
    }
}
