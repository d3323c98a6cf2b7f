//! Serves the copying probe device at a socket, for one host: `probe_device SOCKET` (`tools/guest`).

use device::{serve, Connection, Function, Interrupts, Probe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let socket = std::env::args().nth(1).ok_or("give the name of a socket")?;
    let interrupts = Interrupts::default();
    let function = Function::new(Probe::new(interrupts.clone()), interrupts);
    serve(socket.as_ref(), function, |end| {
        match end {
            Connection::Closed => println!("the host has gone"),
            Connection::Failed(why) => println!("the host broke off: {why}"),
        }
        false
    })?;
    Ok(())
}
