//! Messages by number, and their roles at the home.

use protocol::tables::mesi::{HomeEvent, Message as Name};

/// Messages by their number on the link.
pub(super) const NAMES: [Name; 22] = [
    Name::ReadShared,
    Name::ReadExclusive,
    Name::Upgrade,
    Name::ReadOnce,
    Name::WriteOnce,
    Name::FwdShared,
    Name::FwdInvalid,
    Name::FwdDrop,
    Name::GrantExclusive,
    Name::WriteDone,
    Name::EvictShared,
    Name::EvictClean,
    Name::CleanClean,
    Name::AckClean,
    Name::AckInvalid,
    Name::AckShared,
    Name::DataShared,
    Name::DataExclusive,
    Name::DataOnce,
    Name::EvictDirty,
    Name::CleanDirty,
    Name::AckDirty,
];

pub(super) fn event_of(name: Name) -> Option<HomeEvent> {
    Some(match name {
        Name::ReadShared => HomeEvent::ReadShared,
        Name::ReadExclusive => HomeEvent::ReadExclusive,
        Name::Upgrade => HomeEvent::Upgrade,
        Name::ReadOnce => HomeEvent::ReadOnce,
        Name::WriteOnce => HomeEvent::WriteOnce,
        Name::EvictShared => HomeEvent::EvictShared,
        Name::EvictClean => HomeEvent::EvictClean,
        Name::CleanClean => HomeEvent::CleanClean,
        Name::AckClean => HomeEvent::AckClean,
        Name::AckInvalid => HomeEvent::AckInvalid,
        Name::AckShared => HomeEvent::AckShared,
        Name::EvictDirty => HomeEvent::EvictDirty,
        Name::CleanDirty => HomeEvent::CleanDirty,
        Name::AckDirty => HomeEvent::AckDirty,
        _ => return None,
    })
}
