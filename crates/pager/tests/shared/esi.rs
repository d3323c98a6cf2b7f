//! Compares the pager with the generated table of `protocols/esi.protocol`: from each state, each action of a kernel, a
//! program or the eviction must end in the same state, with the same data transfers.

use crate::world::World;
use std::collections::VecDeque;
use table::{
    home_step, remote_step, HomeEvent, HomeOutcome, HomeState, Memory, Message, RemoteEvent,
    RemoteOutcome, RemoteState,
};
use tombolo_pager::InstallOrder;
use units::HostAccess;

#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../../../protocols/generated/esi.rs"]
mod table;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stimulus {
    Load,
    Store,
    Evict,
    HostLoad,
    HostStore,
}

/// The two tables, joined by channels that keep their order.
struct Tables {
    home: HomeState,
    remote: RemoteState,
    to_home: VecDeque<Message>,
    to_remote: VecDeque<Message>,
    /// Messages with data: to the card, to the host.
    moved: (u64, u64),
}

fn home_event(message: Message) -> HomeEvent {
    match message {
        Message::Get => HomeEvent::Get,
        Message::GetForWriting => HomeEvent::GetForWriting,
        Message::UpgradeForWriting => HomeEvent::UpgradeForWriting,
        Message::Dropped => HomeEvent::Dropped,
        Message::Ack => HomeEvent::Ack,
        Message::AckInvalid => HomeEvent::AckInvalid,
        Message::WrittenBack => HomeEvent::WrittenBack,
        Message::Flushed => HomeEvent::Flushed,
        other => panic!("{other:?} does not go to the host"),
    }
}

fn remote_event(message: Message) -> RemoteEvent {
    match message {
        Message::Share => RemoteEvent::Share,
        Message::Flush => RemoteEvent::Flush,
        Message::Invalidate => RemoteEvent::Invalidate,
        Message::Granted => RemoteEvent::Granted,
        Message::Page => RemoteEvent::Page,
        Message::PageForWriting => RemoteEvent::PageForWriting,
        other => panic!("{other:?} does not go to the card"),
    }
}

impl Tables {
    fn home(&mut self, event: HomeEvent) {
        let HomeOutcome::Go(step) = home_step(self.home, event) else {
            panic!("{event:?} in {:?}", self.home);
        };
        self.home = step.next;
        if let Some(message) = step.send {
            self.moved.0 += u64::from(message.has_data());
            self.to_remote.push_back(message);
        }
        match step.memory {
            Memory::None => {}
            Memory::Read => self.home(HomeEvent::ReadDone),
            _ => self.home(HomeEvent::WriteDone),
        }
    }

    fn remote(&mut self, event: RemoteEvent) {
        let RemoteOutcome::Go(step) = remote_step(self.remote, event) else {
            // A hit.
            return;
        };
        self.remote = step.next;
        if let Some(message) = step.send {
            self.moved.1 += u64::from(message.has_data());
            self.to_home.push_back(message);
        }
    }

    fn run(&mut self, stimulus: Stimulus) {
        match stimulus {
            Stimulus::Load => self.remote(RemoteEvent::LoadToS),
            Stimulus::Store => self.remote(RemoteEvent::StoreToE),
            Stimulus::Evict => self.remote(RemoteEvent::EvictToI),
            Stimulus::HostLoad => self.home(HomeEvent::OpRead),
            Stimulus::HostStore => self.home(HomeEvent::OpWrite),
        }
        loop {
            if let Some(message) = self.to_home.pop_front() {
                self.home(home_event(message));
            } else if let Some(message) = self.to_remote.pop_front() {
                self.remote(remote_event(message));
            } else {
                return;
            }
        }
    }
}

/// The pager's behaviour: the state afterwards in the table's terms, and copies to the card and back.
fn pager(before: RemoteState, stimulus: Stimulus) -> (HostAccess, bool, bool, (u64, u64)) {
    let mut world = World::new(4, 2, 1, InstallOrder::OnCompletion);
    match before {
        RemoteState::S => drop(world.kernel(0, 0, false)),
        RemoteState::E => drop(world.kernel(0, 0, true)),
        _ => {}
    }
    world.rest();
    let (first_in, first_out) = world.copied;
    match stimulus {
        Stimulus::Load => drop(world.kernel(0, 0, false)),
        Stimulus::Store => drop(world.kernel(0, 0, true)),
        // The only frame goes to the other page.
        Stimulus::Evict => drop(world.kernel(0, 1, false)),
        Stimulus::HostLoad => drop(world.program(0, 0, false)),
        Stimulus::HostStore => drop(world.program(0, 0, true)),
    }
    world.rest();
    let (mut copied_in, copied_out) = world.copied;
    copied_in -= first_in + u64::from(stimulus == Stimulus::Evict);
    let entry = world.entry(0, 0);
    let found = (
        world.access[0],
        entry.is_some(),
        entry.is_some_and(|entry| entry.write),
        (copied_in, copied_out - first_out),
    );
    world.put_away();
    found
}

#[test]
fn every_transition_is_the_tables() {
    let states = [
        (HomeState::I, RemoteState::I),
        (HomeState::S, RemoteState::S),
        (HomeState::E, RemoteState::E),
    ];
    let stimuli = [
        Stimulus::Load,
        Stimulus::Store,
        Stimulus::Evict,
        Stimulus::HostLoad,
        Stimulus::HostStore,
    ];
    for (home, remote) in states {
        for stimulus in stimuli {
            if (remote, stimulus) == (RemoteState::I, Stimulus::Evict) {
                continue;
            }
            let mut tables = Tables {
                home,
                remote,
                to_home: VecDeque::new(),
                to_remote: VecDeque::new(),
                moved: (0, 0),
            };
            tables.run(stimulus);
            // Rights of programs, and of kernels: entry, right to write.
            let expected = match tables.remote {
                RemoteState::I => (HostAccess::ReadWrite, false, false),
                RemoteState::S => (HostAccess::Read, true, false),
                RemoteState::E => (HostAccess::None, true, true),
                other => panic!("{other:?} is no state of rest"),
            };
            let (access, entry, write, moved) = pager(remote, stimulus);
            assert_eq!(
                ((access, entry, write), moved),
                (expected, tables.moved),
                "{stimulus:?} in {remote:?}"
            );
        }
    }
}
