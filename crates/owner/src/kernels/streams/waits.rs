//! The waits of a slot and of its streams, in words.

use super::{left, StreamControl};
use error::Error;
use units::{FaultToken, SlotId, StreamDirection, StreamId};

/// Waits of the slot's ports, as the end of a sentence.
pub(super) fn of_slot(
    control: &mut StreamControl<'_>,
    faults: &[FaultToken],
    slot: SlotId,
) -> Result<String, Error> {
    let status = control.slots.card().slot_status(slot)?;
    let Some(manifest) = control.slots.manifest(slot) else {
        return Ok(String::new());
    };
    let mut parts = Vec::new();
    let memory_ports = control.slots.description().memory_ports_per_slot();
    let memory_ports = status.ports.iter().take(memory_ports.into());
    let mut exclusive = Vec::new();
    for (number, port) in memory_ports.enumerate() {
        let name = control.slots.port_name(manifest, number);
        let waits = port.waits().into_iter();
        parts.extend(waits.map(|wait| format!("port {name} {wait}")));
        if port.exclusive {
            exclusive.push(format!(
                "port {name} has asked for exclusive access (AxLOCK): every access is answered OKAY, none EXOKAY, so a \
                 kernel that waits for EXOKAY never ends"
            ));
        }
    }
    parts.extend(stream_waits(control, slot)?);
    let (first, last) = control.slots.requesters_of_slot(slot);
    let faults = faults.iter();
    let faults = faults.filter(|token| (first..=last).contains(&token.requester));
    match faults.count() {
        0 => {}
        1 => parts.push("1 fault is with the host".to_owned()),
        count => parts.push(format!("{count} faults are with the host")),
    }
    if parts.is_empty() {
        parts.push("no access of it is under way".to_owned());
        let untaken = control.untaken(slot);
        parts.extend(untaken.into_iter().map(|stream| {
            let port = control.stream_name(slot, stream).port;
            format!("port {port}: nothing takes what the kernel sends there")
        }));
    }
    parts.extend(exclusive);
    Ok(parts.join("; "))
}

/// Waits of the slot's open streams, each as a part of a sentence.
fn stream_waits(control: &mut StreamControl<'_>, slot: SlotId) -> Result<Vec<String>, Error> {
    let under_way: Vec<(StreamId, u64)> = control
        .streams
        .open
        .iter()
        .filter(|((place, _), _)| *place == slot)
        .filter_map(|((_, stream), c)| Some((*stream, c.unfinished.front()?.bytes)))
        .collect();
    let mut parts = Vec::new();
    for (stream, bytes) in under_way {
        let state = control.state_of(slot, stream)?;
        let port = control.stream_name(slot, stream).port;
        let moved = state.moved;
        let plugged = control.mover_of(slot, stream).2.is_some();
        let waits = match state.waits(stream.direction) {
            Some(_) if plugged && state.valid && stream.direction == StreamDirection::Out => {
                "a beat of the kernel waits for the network"
            }
            waits => waits.unwrap_or("bytes are moving"),
        };
        parts.push(format!("port {port}: {moved} of {bytes} bytes, {waits}"));
        let waiting = control.waiting_at(slot, stream)?;
        let ends = stream.direction == StreamDirection::Out && !waiting.endless;
        if ends && (waiting.held > 0 || (moved > 0 && !state.valid)) {
            let held = waiting.held;
            parts.push(match held {
                0 => format!("port {port}: TLAST has not come"),
                held => format!(
                    "port {port}: {held} bytes wait in the slot, as TLAST has not come behind them"
                ),
            });
        }
    }
    parts.extend(joint_waits(control, slot)?);
    for stream in control.untaken(slot) {
        let waiting = control.waiting_at(slot, stream)?;
        if waiting.is_any() {
            let port = control.stream_name(slot, stream).port;
            let left = left(waiting);
            parts.push(format!("port {port}: {left}, and no transfer takes it"));
        }
    }
    Ok(parts)
}

/// Waits of the slot's connections, each as a part of a sentence.
fn joint_waits(control: &mut StreamControl<'_>, slot: SlotId) -> Result<Vec<String>, Error> {
    let mut parts = Vec::new();
    for joint in control.streams.joints.clone() {
        if joint.from.0 != slot && joint.to.0 != slot {
            continue;
        }
        let state = control
            .slots
            .card()
            .need_streams()?
            .switch_state(joint.to.0, joint.to.1.pair)?;
        let waits = match (state.valid, state.ready) {
            (true, false) => "the receiver does not take the next beat",
            (false, _) => "the sender sends nothing",
            (true, true) => "bytes are moving",
        };
        let from = control.stream_name(joint.from.0, joint.from.1);
        let to = control.stream_name(joint.to.0, joint.to.1);
        parts.push(format!("{from} to {to}: {waits}"));
    }
    Ok(parts)
}
