//! Orders of a daemon about trapped memory of a program, on a socket of their own.
//!
//! Memory whose accesses are trapped is protected by its own process. The program passes one end of a pair of
//! `SOCK_SEQPACKET` sockets to the daemon, which sends an order before a kernel may access a page and waits for the
//! acknowledgement. Nothing else is on this socket, so an order never waits behind a request or a reply.
//!
//! | bytes of an order | field |
//! |---|---|
//! | 0 to 7 | number of the order |
//! | 8 to 15 | block, by the program's count |
//! | 16 to 23, 24 to 31 | first byte in the block, and bytes |
//! | 32 to 39 | traps of this program that were answered before the order |
//! | 40 | [change](Change) |
//! | 41 to 47 | zero |
//!
//! An acknowledgement repeats the number of its order (bytes 0 to 7), then gives an error number of the system (bytes 8
//! to 11; 0: done) and four zeroes. Words are little-endian.

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    recv, send, shutdown, socketpair, sockopt, AddressFamily, RecvFlags, SendFlags, Shutdown,
    SocketFlags, SocketType,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Size of an order in bytes.
const ORDER: usize = 48;
/// Size of an acknowledgement in bytes.
const ACKNOWLEDGEMENT: usize = 16;

/// Access rights of a program's threads to a range of its memory, from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Change {
    /// Every access is trapped.
    None = 0,
    /// Writes are trapped.
    Read = 1,
    /// No access is trapped.
    ReadWrite = 2,
    /// No access is trapped, and the memory is shared no longer.
    Release = 3,
}

/// A daemon's order to change the rights of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Number of the order; its acknowledgement repeats it.
    pub number: u64,
    /// Block of memory, by the program's count.
    pub block: u64,
    /// First byte in the block.
    pub offset: u64,
    /// Size of the range in bytes.
    pub bytes: u64,
    /// Traps of this program that were answered before the order ([`TrapServed`](crate::TrapServed)).
    pub answered: u64,
    /// Rights from now on.
    pub change: Change,
}

/// An acknowledgement: all threads have no more rights than ordered, or the system's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of the order.
    pub number: u64,
    /// Error number of the system; 0: done.
    pub error: i32,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

impl Order {
    /// Encodes the order for the socket.
    pub fn encode(self) -> [u8; ORDER] {
        let mut bytes = [0; ORDER];
        let words = [
            self.number,
            self.block,
            self.offset,
            self.bytes,
            self.answered,
        ];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[40] = self.change as u8;
        bytes
    }

    /// Decodes an order; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let change = match bytes.get(40..ORDER)? {
            [0, 0, 0, 0, 0, 0, 0, 0] => Change::None,
            [1, 0, 0, 0, 0, 0, 0, 0] => Change::Read,
            [2, 0, 0, 0, 0, 0, 0, 0] => Change::ReadWrite,
            [3, 0, 0, 0, 0, 0, 0, 0] => Change::Release,
            _ => return None,
        };
        (bytes.len() == ORDER).then(|| Self {
            number: word(bytes, 0),
            block: word(bytes, 8),
            offset: word(bytes, 16),
            bytes: word(bytes, 24),
            answered: word(bytes, 32),
            change,
        })
    }
}

impl Acknowledgement {
    /// Encodes the acknowledgement for the socket.
    pub fn encode(self) -> [u8; ACKNOWLEDGEMENT] {
        let mut bytes = [0; ACKNOWLEDGEMENT];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.error.to_le_bytes());
        bytes
    }

    /// Decodes an acknowledgement; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [number @ .., e0, e1, e2, e3, 0, 0, 0, 0] if number.len() == 8 => Some(Self {
                number: word(number, 0),
                error: i32::from_le_bytes([*e0, *e1, *e2, *e3]),
            }),
            _ => None,
        }
    }
}

/// A pair of sockets for orders: the program's end, and the end for the daemon.
///
/// # Errors
/// The system's.
pub fn order_sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Checks the socket that a program has passed for orders: one end of a pair that the process of that program has made,
/// so that no other process receives what a daemon sends.
///
/// # Errors
/// The rule that it breaks.
pub fn check_order_socket(socket: &OwnedFd, process: u32) -> Result<(), String> {
    let system =
        |error: Errno| format!("the socket for orders is none: {}", io::Error::from(error));
    let domain = sockopt::socket_domain(socket).map_err(system)?;
    let kind = sockopt::socket_type(socket).map_err(system)?;
    if (domain, kind) != (AddressFamily::UNIX, SocketType::SEQPACKET) {
        return Err("the socket for orders is no Unix socket of kind SOCK_SEQPACKET".to_owned());
    }
    let made = sockopt::socket_peercred(socket).map_err(system)?;
    match made.pid.as_raw_nonzero().get().unsigned_abs() == process {
        true => Ok(()),
        false => Err("another process has made the socket for orders".to_owned()),
    }
}

/// The program's end: waits for the next order. `None`: the other end is closed.
///
/// # Errors
/// The system's; `InvalidData` for bytes that are no order.
pub fn receive_order(socket: &OwnedFd) -> io::Result<Option<Order>> {
    let mut bytes = [0; ORDER + 1];
    loop {
        match recv(socket, bytes.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, 0)) | Err(Errno::CONNRESET) => return Ok(None),
            Ok((_, came)) => {
                let order = bytes.get(..came).and_then(Order::decode);
                return order.map(Some).ok_or(io::ErrorKind::InvalidData.into());
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The program's end: acknowledges an order.
///
/// # Errors
/// The system's.
pub fn acknowledge(socket: &OwnedFd, acknowledgement: Acknowledgement) -> io::Result<()> {
    loop {
        match send(socket, &acknowledgement.encode(), SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The daemon's end: sends an order. Never blocks, whatever the program has done to the socket.
///
/// # Errors
/// The system's; `WouldBlock`: earlier orders were not read.
pub fn send_order(socket: &OwnedFd, order: Order) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    loop {
        match send(socket, &order.encode(), flags) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The daemon's end: waits for the acknowledgement of an order, at most until `deadline`, whatever the program has done
/// to the socket.
///
/// # Errors
/// `TimedOut`; `UnexpectedEof`: the program has ended; `InvalidData`: something else came; the system's.
pub fn await_acknowledgement(
    socket: &OwnedFd,
    number: u64,
    deadline: Instant,
) -> io::Result<Acknowledgement> {
    let mut bytes = [0; ACKNOWLEDGEMENT + 1];
    loop {
        match recv(socket, bytes.as_mut_slice(), RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((_, came)) => {
                let told = bytes.get(..came).and_then(Acknowledgement::decode);
                let told = told.filter(|told| told.number == number);
                return told.ok_or(io::ErrorKind::InvalidData.into());
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends a socket for orders, for all descriptors of it, here and at the other end.
pub fn end_orders(socket: impl AsFd) {
    // It may be closed already.
    let _ = shutdown(socket, Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_an_order_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Some(order) = Order::decode(&bytes) {
                prop_assert_eq!(&order.encode()[..], &bytes[..]);
            }
            if let Some(told) = Acknowledgement::decode(&bytes) {
                prop_assert_eq!(&told.encode()[..], &bytes[..]);
            }
        }

        #[test]
        fn an_order_is_read_as_it_was_written(words: [u64; 5], change in 0..4usize) {
            let [number, block, offset, bytes, answered] = words;
            let change = [Change::None, Change::Read, Change::ReadWrite, Change::Release][change];
            let order = Order { number, block, offset, bytes, answered, change };
            prop_assert_eq!(Order::decode(&order.encode()), Some(order));
            let mut other = order.encode();
            other[40] = 4;
            prop_assert_eq!(Order::decode(&other), None);
            let told = Acknowledgement { number, error: block as i32 };
            prop_assert_eq!(Acknowledgement::decode(&told.encode()), Some(told));
        }
    }

    const ORDERED: Order = Order {
        number: 7,
        block: 3,
        offset: 4096,
        bytes: 8192,
        answered: 2,
        change: Change::Read,
    };

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(20)
    }

    #[test]
    fn an_order_is_acknowledged_by_its_number() {
        let (program, daemon) = order_sockets().unwrap();
        assert_eq!(check_order_socket(&daemon, std::process::id()), Ok(()));
        send_order(&daemon, ORDERED).unwrap();
        assert_eq!(receive_order(&program).unwrap(), Some(ORDERED));
        let late = await_acknowledgement(&daemon, 7, soon()).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        let done = |number| Acknowledgement { number, error: 0 };
        acknowledge(&program, done(7)).unwrap();
        let told = await_acknowledgement(&daemon, 7, soon());
        assert_eq!(told.unwrap(), done(7));
        // That of an earlier order is none of this one.
        acknowledge(&program, done(7)).unwrap();
        let early = await_acknowledgement(&daemon, 8, soon()).unwrap_err();
        assert_eq!(early.kind(), io::ErrorKind::InvalidData);
        drop(program);
        let gone = await_acknowledgement(&daemon, 8, soon()).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
        assert!(send_order(&daemon, ORDERED).is_err());
    }

    #[test]
    fn an_end_reaches_the_program_though_it_holds_both_sockets() {
        let (program, daemon) = order_sockets().unwrap();
        let passed = daemon.try_clone().unwrap();
        end_orders(&passed);
        drop(passed);
        assert_eq!(receive_order(&program).unwrap(), None);
    }

    #[test]
    fn nothing_that_a_program_does_to_its_socket_blocks_a_daemon() {
        let (program, daemon) = order_sockets().unwrap();
        // It reads nothing.
        while send_order(&daemon, ORDERED).is_ok() {}
        // Its acknowledgement is none.
        send(&program, &[1; 30], SendFlags::NOSIGNAL).unwrap();
        let other = await_acknowledgement(&daemon, 1, soon()).unwrap_err();
        assert_eq!(other.kind(), io::ErrorKind::InvalidData);
        let stream = std::os::unix::net::UnixStream::pair().unwrap();
        let refused = check_order_socket(&stream.0.into(), std::process::id());
        assert!(refused.unwrap_err().contains("SEQPACKET"));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(check_order_socket(&file.into(), std::process::id()).is_err());
        assert!(check_order_socket(&daemon, 1).is_err());
    }
}
