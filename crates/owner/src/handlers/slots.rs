//! Requests about the kernels in slots: loading, starting, waiting, stopping.

use crate::kernels::{Announced, AnyLook, RunLook, SignalLook};
use crate::message::{
    self, Await, ClientId, Load, LoadId, Poll, PollAny, ReadRegister, RunState, SignalState,
};
use crate::owner_ref::OwnerRef;
use crate::tenants::Counted;
use card::kernel::KernelPackage;
use error::Error;
use pager::Event;
use std::cell::Cell;
use units::{Asid, Picoseconds, SlotId};

/// Interval between two polls of ports that are not at rest, in virtual time.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

/// Maximum time that the end of a mapping waits for accesses of a kernel whose registers its program reads directly.
const PATIENCE: Picoseconds = Picoseconds::from_millis(100);

impl OwnerRef {
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
        self.handles(|handles| {
            self.kernels(|kernels| {
                handles.space(client, space)?;
                wanted.map_or(Ok(()), |slot| kernels.may_load(handles, client, slot))
            })
        })?;
        // A slot that the client already has does not count again towards the quota.
        let is_own = |slot| self.handles(|handles| handles.client_in(slot)) == Some(client);
        let _room = match wanted.is_some_and(is_own) {
            true => None,
            false => Some(self.room(client, Counted::Slots)?),
        };
        // This may take minutes. What was built is in the cache when the card looks for it.
        if let Some(build) = self.kernels(|kernels| kernels.card().loader()?.preparation(&kernel)) {
            harmless.set(true);
            self.beside("build", build).await?;
            harmless.set(false);
        }
        let slot = match wanted {
            Some(slot) => slot,
            // It is unclaimed, so it is claimed at once.
            None => self.kernels(|kernels| self.tasks(|tasks| kernels.first_empty_slot(tasks)))?,
        };
        let _claim = self.claim(slot).await;
        self.handles(|handles| handles.space(client, space))?;
        if self.handles(|handles| {
            self.kernels(|kernels| {
                kernels.may_load(handles, client, slot)?;
                Ok::<_, Error>(kernels.kernel_in(slot).is_some())
            })
        })? {
            if let Some(error) = self.kernels(|kernels| kernels.unsettled(slot)) {
                tracing::warn!(%error, "what a kernel has sent is lost with it");
            }
            self.empty(slot).await?;
        }
        self.kernels(|kernels| kernels.put(slot, &kernel))?;
        self.reconfigure(slot, &kernel).await?;
        // It may have ended while the slot was made ready.
        let asid = self.handles(|handles| handles.space(client, space))?;
        self.kernels(|kernels| kernels.begin_with(slot, kernel, asid))?;
        let load = self.handles(|handles| handles.add_load(client, slot));
        self.clients(|clients| {
            self.kernels(|kernels| clients.loaded(client, slot, || kernels.statistics()))
        })?;
        Ok(message::Loaded { load, slot })
    }

    /// Lets the time of a slot's reconfiguration pass; other slots continue meanwhile. A card comes up with the first
    /// kernel of each slot in place.
    async fn reconfigure(&self, slot: SlotId, kernel: &KernelPackage) -> Result<(), Error> {
        let other = self.paging_with(|paging, kernels| {
            let other = kernels.reconfigure(slot, &kernel.manifest.name)?;
            if other {
                paging.begin_reconfiguration(kernels, slot);
            }
            Ok::<_, Error>(other)
        })?;
        if !other {
            return Ok(());
        }
        let over = || self.kernels(|kernels| Ok((!kernels.is_reconfiguring(slot)).then_some(())));
        self.card(over).await
    }

    /// Empties a slot; reports a failure of a run that was not waited for.
    pub(crate) async fn close_slot(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let (slot, space) = self.handles(|handles| {
            self.kernels(|kernels| {
                let slot = handles.slot(client, load)?;
                Ok::<_, Error>((slot, kernels.space_of(slot)?))
            })
        })?;
        let unfinished = self.settled(space).await.err();
        let _claim = self.claim(slot).await;
        // Another task may have closed it meanwhile.
        self.slot_of(client, load)?;
        // An error of the kernel on recalled lines is reported, too.
        self.recall_lines(slot).await?;
        let failure = self.kernels(|kernels| {
            let failure = kernels.take_untold(slot)?;
            let lost = kernels.lost_on_the_way_home(slot)?;
            let unsettled = kernels.unsettled(slot);
            Ok::<_, Error>(failure.or(lost).or(unfinished).or(unsettled))
        })?;
        self.empty(slot).await?;
        failure.map_or(Ok(()), Err)
    }

    /// Stops a slot's activity and removes its kernel. The caller holds the claim on the slot.
    pub(crate) async fn empty(&self, slot: SlotId) -> Result<(), Error> {
        self.handles(|handles| handles.end_load(slot));
        self.rest(slot).await?;
        self.host_lines_home(slot).await?;
        self.kernels(|kernels| kernels.leave(slot))
    }

    /// Holds the slot in reset and drops its pending accesses. The caller holds the claim on the slot.
    pub(super) async fn rest(&self, slot: SlotId) -> Result<(), Error> {
        self.recall_lines(slot).await?;
        let held = self.paging_with(|paging, kernels| {
            let held = kernels.hold(slot)?;
            if let Some((space, requesters)) = &held {
                paging.drain(kernels, slot, *space, requesters.clone())?;
            }
            Ok::<_, Error>(held)
        })?;
        let Some((_, requesters)) = held else {
            return Ok(());
        };
        let over = || self.kernels(|kernels| Ok((!kernels.is_draining(slot)).then_some(())));
        let result = self.card(over).await;
        self.paging_with(|paging, kernels| {
            kernels.drained(slot);
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
    pub(super) async fn stop(&self, slot: SlotId, load: LoadId) -> Result<(), Error> {
        let _claim = self.claim(slot).await;
        match self.handles(|handles| handles.is_alive(load)) {
            true => self.rest(slot).await,
            // The task that ended it has stopped it.
            false => Ok(()),
        }
    }

    /// The unreported failure of a slot, if there is one. The slot is in reset then.
    pub(super) async fn fail_if_failed(&self, slot: SlotId) -> Result<(), Error> {
        let failed = self.handles(|handles| {
            self.kernels(|kernels| {
                let failure = kernels.take_untold(slot)?;
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
        let slot_of = || self.slot_of(client, load);
        let _claim = self.claim(slot_of()?).await;
        // It may have been closed meanwhile.
        let slot = slot_of()?;
        self.paging_with(|paging, kernels| {
            let Some(Announced { space, addresses }) = kernels.make_ready(slot)? else {
                return Ok(());
            };
            for address in addresses {
                let asid = space;
                paging.tell(kernels, Event::Announce { asid, address })?;
            }
            kernels.go(slot)
        })
    }

    /// Stops the kernel of a client.
    pub(crate) async fn stop_load(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let slot = self.slot_of(client, load)?;
        self.stop(slot, load).await
    }

    pub(crate) async fn poll(&self, client: ClientId, request: Poll) -> Result<RunState, Error> {
        let Poll { load, slice } = request;
        let slot = self.slot_of(client, load)?;
        let until = self.kernels(|kernels| {
            kernels.waits_otherwise(slot);
            kernels.now() + slice
        });
        loop {
            // An alarm that has expired would keep the card from working.
            let alarm = self.alarm(self.kernels(|kernels| kernels.next_look([slot], until)));
            let seen = self
                .card(|| {
                    self.handles(|handles| {
                        self.kernels(|kernels| kernels.look(handles, slot, load, until))
                    })
                })
                .await?;
            drop(alarm);
            match seen {
                RunLook::Settle => self.kernels(|kernels| kernels.settle_run(slot))?,
                RunLook::Failed(error) => {
                    self.stop(slot, load).await?;
                    return Err(error);
                }
                RunLook::Done(run) => {
                    let client = self.handles(|handles| handles.client_in(slot));
                    self.clients(|clients| clients.ran(client, run));
                    return Ok(RunState::Done(self.progress()));
                }
                RunLook::SliceOver
                    if self.paging_with(|paging, kernels| {
                        let quiet = paging.is_quiet(kernels);
                        kernels.still_running(slot, quiet)
                    })? =>
                {
                    return Ok(RunState::Running(self.progress()));
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
        let slots = self.handles(|handles| {
            let slot_of = |load| Ok((handles.slot(client, load)?, load));
            let slots = loads.into_iter().map(slot_of);
            slots.collect::<Result<Vec<(SlotId, LoadId)>, Error>>()
        })?;
        let until = self.kernels(|kernels| {
            for (slot, _) in &slots {
                kernels.waits_otherwise(*slot);
            }
            kernels.now() + slice
        });
        let numbers = || slots.iter().map(|(slot, _)| *slot);
        loop {
            let alarm = self.alarm(self.kernels(|kernels| kernels.next_look(numbers(), until)));
            let over = self.card(|| {
                self.handles(|handles| {
                    self.kernels(|kernels| {
                        for (place, (slot, load)) in slots.iter().enumerate() {
                            if kernels.is_over(handles, *slot, *load)? {
                                return Ok(Some(AnyLook::Over(place)));
                            }
                        }
                        let due = numbers().find(|slot| kernels.is_to_settle(*slot));
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
                AnyLook::Settle(slot) => self.kernels(|kernels| kernels.settle_run(slot))?,
                AnyLook::SliceOver => {
                    return self.paging_with(|paging, kernels| {
                        let quiet = paging.is_quiet(kernels);
                        kernels.first_unannounced(&slots, quiet)
                    });
                }
            }
        }
    }

    /// Stops a kernel that exceeded its deadline.
    pub(crate) async fn expire(&self, client: ClientId, load: LoadId) -> Result<(), Error> {
        let slot = self.slot_of(client, load)?;
        match self.kernels(|kernels| kernels.running_since(slot))? {
            Some(_) => Err(self.not_done(slot, load, "").await?),
            None => Ok(()),
        }
    }

    /// Reports that a kernel exceeded its deadline and stops it, unless completion is known only to its program.
    async fn not_done(&self, slot: SlotId, load: LoadId, why: &str) -> Result<Error, Error> {
        let error =
            self.paging_with(|paging, kernels| kernels.late(&paging.faults_waiting(), slot, why))?;
        if !self.kernels(|kernels| kernels.is_user_managed(slot)) {
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
        let until = self.handles(|handles| {
            self.kernels(|kernels| {
                let slot = handles.slot(client, load)?;
                kernels.waits_otherwise(slot);
                Ok::<_, Error>(kernels.now() + slice)
            })
        })?;
        loop {
            // It may have been closed meanwhile.
            let slot = self.slot_of(client, load)?;
            match self.kernels(|kernels| kernels.look_for(slot, signal, until))? {
                SignalLook::Failed(error) => {
                    self.stop(slot, load).await?;
                    return Err(error);
                }
                SignalLook::Seen(value) => return Ok(SignalState::Come(value)),
                SignalLook::Nothing(None) => {
                    return Ok(SignalState::Awaited(self.progress()));
                }
                SignalLook::Nothing(Some(next)) => {
                    self.pause(next).await?;
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
        let slot = self.slot_of(client, load)?;
        if self.kernels(|kernels| kernels.polls(slot))? {
            let until = self.kernels(|kernels| kernels.now() + kernels.step());
            self.pause(until).await?;
            // It may have been closed meanwhile.
            self.slot_of(client, load)?;
            if let Some(error) = self.kernels(|kernels| kernels.failure_of_polled(slot))? {
                self.stop(slot, load).await?;
                return Err(error);
            }
        }
        self.kernels(|kernels| kernels.read_raw_register(slot, offset))
    }

    /// Waits until the outstanding accesses of a space's kernels are answered, if their program has read registers
    /// while accesses were under way: it may have read there that the kernels are done.
    pub(crate) async fn settled(&self, asid: Asid) -> Result<(), Error> {
        let begun = self.kernels(|kernels| kernels.now());
        while let Some(slot) = self.kernels(|kernels| kernels.unsettled_in(asid))? {
            let now = self.kernels(|kernels| kernels.now());
            if now - begun > PATIENCE
                || self.paging_with(|paging, kernels| paging.is_quiet(kernels))
            {
                // The answer shows the state when it left the card; the accesses may have ended meanwhile.
                return match self.kernels(|kernels| kernels.unsettled_in(asid))? {
                    Some(_) => Err(self.paging_with(|paging, kernels| {
                        kernels.unfinished(&paging.faults_waiting(), slot)
                    })?),
                    None => Ok(()),
                };
            }
            self.pause(now + PAUSE).await?;
        }
        Ok(())
    }

    /// Lets the card work until an event, at most until a moment in virtual time.
    pub(super) async fn pause(&self, until: Picoseconds) -> Result<(), Error> {
        let _alarm = self.alarm(until);
        let turns = self.tasks(|tasks| tasks.turns());
        self.card(|| self.tasks(|tasks| Ok((tasks.turns() != turns).then_some(()))))
            .await
    }
}
