//! The thread between all hosts: reads packets, has links decide on them, and writes them when their time has come.

mod core;
mod counts;
mod pacer;
mod ports;

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use rustix::event::EventfdFlags;

use self::core::Core;
pub use self::counts::{Counts, PairCounts};
use crate::wan::link::Link;
use crate::wan::{Flow, WanError, sys};

/// A host as the forwarder sees it.
#[derive(Debug)]
pub struct Port {
    /// The host's address.
    pub address: Ipv4Addr,
    /// Place of the host: its row and column in the matrix of links.
    pub place: u16,
    /// The other end of the host's device.
    pub tun: OwnedFd,
}

/// Work of the thread for a caller, done between two packets.
type Task = Box<dyn FnOnce(&mut Core) + Send>;

/// A running forwarder; it stops when it is dropped, and packets under way are then lost.
#[derive(Debug)]
pub struct Forwarder {
    tasks: Sender<Task>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Starts forwarding between these hosts. `links` is the matrix of places × places: the link from place `a` to
    /// place `b` stands at `a` · places + `b`. The same seed loses the same packets of each link, by their order.
    ///
    /// # Errors
    /// A port's place or a link is wrong, an address occurs twice, or the kernel refuses the thread or its epoll
    /// instance.
    pub fn start(ports: Vec<Port>, links: Vec<Link>, seed: u64) -> Result<Forwarder, WanError> {
        let wake = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|e| WanError::system("make an event descriptor", e))?;
        let wake = Arc::new(wake);
        let mut core = Core::new(&wake, links, seed)?;
        for port in ports {
            core.add_port(port)?;
        }
        let (tasks, received) = mpsc::channel::<Task>();
        let thread = thread::Builder::new()
            .name("wan".to_owned())
            .spawn(move || {
                core.is_first = sys::run_first().is_ok();
                core.run(&received);
            })
            .map_err(|e| WanError::system("start the forwarder's thread", e))?;
        Ok(Forwarder { tasks, wake, thread: Some(thread) })
    }

    /// Replaces the link from one place to another. Packets under way keep their time.
    ///
    /// # Errors
    /// A place does not exist, or the link is wrong.
    pub fn set_link(&self, from: u16, to: u16, link: Link) -> Result<(), WanError> {
        self.call(move |core| core.set_link(from, to, link))?
    }

    /// The link from one place to another, as it is now.
    ///
    /// # Errors
    /// A place does not exist.
    pub fn link(&self, from: u16, to: u16) -> Result<Link, WanError> {
        self.call(move |core| core.link(from, to))?
    }

    /// Adds a host.
    ///
    /// # Errors
    /// The place does not exist, or the address is in use.
    pub fn add_port(&self, port: Port) -> Result<(), WanError> {
        self.call(move |core| core.add_port(port))?
    }

    /// Removes a host: packets to it are unroutable from now on, those under way included. Returns the other end of
    /// its device.
    ///
    /// # Errors
    /// No host has this address.
    pub fn remove_port(&self, address: Ipv4Addr) -> Result<OwnedFd, WanError> {
        self.call(move |core| core.remove_port(address))?
    }

    /// Counts since the start, or since [`reset_counts`](Self::reset_counts).
    ///
    /// # Errors
    /// The forwarder has stopped.
    pub fn counts(&self) -> Result<Counts, WanError> {
        self.call(|core| core.counts())
    }

    /// The traffic between hosts, in the order of their addresses.
    ///
    /// # Errors
    /// The forwarder has stopped.
    pub fn flows(&self) -> Result<Vec<Flow>, WanError> {
        let mut flows = self.call(|core| core.flows())?;
        flows.sort_unstable_by_key(|flow| (flow.from, flow.to));
        Ok(flows)
    }

    /// Counts again from zero, but for what is queued.
    ///
    /// # Errors
    /// The forwarder has stopped.
    pub fn reset_counts(&self) -> Result<(), WanError> {
        self.call(Core::reset_counts)
    }

    /// Runs something on the forwarder's thread, and waits for its result.
    fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Core) -> T + Send + 'static,
    ) -> Result<T, WanError> {
        let (result, received) = mpsc::sync_channel(1);
        let task: Task = Box::new(move |core| {
            // The caller waits for it: the channel is open.
            let _ = result.send(work(core));
        });
        self.tasks.send(task).map_err(|_| WanError::Stopped)?;
        self.wake();
        received.recv().map_err(|_| WanError::Stopped)
    }

    fn wake(&self) {
        // It fails if the counter is full, and then the thread is woken anyway.
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        // An error says that the thread has ended.
        let _ = self.tasks.send(Box::new(Core::stop));
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed there, and reported as `Stopped` since.
            let _ = thread.join();
        }
    }
}
