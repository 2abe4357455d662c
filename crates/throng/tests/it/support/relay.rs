//! A relay in front of a server, which a test can cut: the server is then lost, and back when the test
//! says so.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Where what comes in goes, as long as it is not cut.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
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

    /// Ends all connections, and new ones at once.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.open.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Takes connections again.
    pub(crate) fn restore(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

fn join(state: &State, client: &TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut open = state.open.lock().unwrap();
    if state.is_cut.load(Ordering::SeqCst) {
        return client.shutdown(Shutdown::Both);
    }
    let server = TcpStream::connect(server)?;
    for (from, to) in [(client, &server), (&server, client)] {
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        open.push(from.try_clone()?);
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
