//! A relay in front of a server, by which a test loses the server, or disturbs what passes.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::pass;

/// Bytes that pass at once.
const CHUNK: usize = 64 * 1024;

/// Where what comes in goes, as long as nothing is wrong.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// All connections are ended, new ones at once.
    Cut,
    /// Connections are taken and stay, and nothing passes until the fault is over.
    Silence,
    /// What passes is late by this.
    Delay(Duration),
    /// Half of what is sent in one direction passes, and then its connection is cut.
    HalfThenCut(Direction),
    /// Half of what is sent in one direction passes, and the rest when the fault is over.
    HalfThenSilence(Direction),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    /// There is another fault, or none.
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    fault: Option<Fault>,
    open: Vec<TcpStream>,
}

impl Relay {
    /// A relay to this address.
    pub(crate) fn to(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        // As the other servers of tests, it lives as long as the test binary.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let _ = join(&shared, &client, server);
            }
        });
        Relay { address, state }
    }

    /// From now on this is wrong.
    pub(crate) fn disturb(&self, fault: Fault) {
        let mut now = self.state.now();
        now.fault = Some(fault);
        if fault == Fault::Cut {
            for stream in now.open.drain(..) {
                // It may have ended by itself.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.state.changed.notify_all();
    }

    /// Ends all connections, and new ones at once.
    pub(crate) fn cut(&self) {
        self.disturb(Fault::Cut);
    }

    /// Nothing is wrong any more.
    pub(crate) fn restore(&self) {
        self.state.now().fault = None;
        self.state.changed.notify_all();
    }
}

impl State {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap()
    }

    /// Returns when this is no longer wrong.
    fn wait_for_end(&self, fault: Fault) {
        let lasts = |now: &mut Now| now.fault == Some(fault);
        drop(self.changed.wait_while(self.now(), lasts).unwrap());
    }
}

fn join(state: &Arc<State>, client: &TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut now = state.now();
    if now.fault == Some(Fault::Cut) {
        return client.shutdown(Shutdown::Both);
    }
    let server = TcpStream::connect(server)?;
    for (from, to, direction) in
        [(client, &server, Direction::ToServer), (&server, client, Direction::ToClient)]
    {
        let from = from.try_clone()?;
        let to = to.try_clone()?;
        now.open.push(from.try_clone()?);
        let state = Arc::clone(state);
        std::thread::spawn(move || {
            let _ = forward(&state, &from, &to, direction);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

/// Passes on what comes, until there is no more or the connection is lost.
fn forward(
    state: &State,
    mut from: &TcpStream,
    mut to: &TcpStream,
    direction: Direction,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        let (half, rest) = buffer[..length].split_at(length / 2);
        let fault = state.now().fault;
        match fault {
            Some(Fault::HalfThenCut(disturbed)) if disturbed == direction => {
                return to.write_all(half);
            }
            Some(fault @ Fault::HalfThenSilence(disturbed)) if disturbed == direction => {
                to.write_all(half)?;
                state.wait_for_end(fault);
                to.write_all(rest)?;
                continue;
            }
            Some(Fault::Delay(time)) => pass(time),
            Some(Fault::Silence) => state.wait_for_end(Fault::Silence),
            _ => {}
        }
        to.write_all(&buffer[..length])?;
    }
}
