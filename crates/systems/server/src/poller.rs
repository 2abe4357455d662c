//! Thousands of sockets on one tokio runtime without a registration there for each: an epoll
//! instance of our own, of which tokio only knows whether it has news.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::retry_on_intr;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(crate) use rustix::event::epoll::Event;

/// Most events taken from the kernel at a time.
const EVENTS_MAX: usize = 64;

/// Watches sockets, edge-triggered: each change is reported once.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: AsyncFd<OwnedFd>,
}

impl Poller {
    /// A poller for the runtime and the file table of the calling thread.
    ///
    /// # Errors
    /// When the kernel has no room for it.
    #[expect(unsafe_code, reason = "tokio must know that a descriptor stays what it is")]
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Kernels before Linux 5.11, and some emulators, do not know the call: better now than never a word.
        let mut none = Vec::with_capacity(1);
        let now = Timespec::default();
        retry_on_intr(|| epoll::wait(&epoll, spare_capacity(&mut none), Some(&now)))?;
        // SAFETY: an `OwnedFd` names the same open file until it is dropped, and nothing here
        // lets anyone have it by value or change it.
        let epoll = unsafe { AsyncFd::register_with_interest(epoll, Interest::READABLE)? };
        Ok(Self { epoll })
    }

    /// Watches `socket` for what can be read, and reports it under the name `key`. Closing the
    /// socket ends that.
    ///
    /// # Errors
    /// When the kernel has no room for it.
    pub(crate) fn watch(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(key), flags)?)
    }

    /// From now on also watches for room to write. Room that is there already is reported.
    ///
    /// # Errors
    /// When `socket` is not watched.
    pub(crate) fn watch_room(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(key), flags)?)
    }

    /// Watches `socket` no longer.
    ///
    /// # Errors
    /// When it is not watched.
    pub(crate) fn forget(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Fills `events` with what happened since the last time. Pending only when nothing did;
    /// the task is then woken when something does.
    ///
    /// # Errors
    /// Only when the epoll instance is broken.
    pub(crate) fn poll_events(
        &self,
        cx: &mut Context<'_>,
        events: &mut Vec<Event>,
    ) -> Poll<io::Result<()>> {
        events.clear();
        events.reserve(EVENTS_MAX);
        loop {
            let mut guard = ready!(self.epoll.poll_read_ready(cx))?;
            let now = Timespec::default();
            retry_on_intr(|| epoll::wait(guard.get_inner(), spare_capacity(events), Some(&now)))?;
            if !events.is_empty() {
                // More may be waiting. Whether there is, the next call finds out.
                return Poll::Ready(Ok(()));
            }
            // Whatever happens after that look makes the epoll instance readable anew.
            guard.clear_ready();
        }
    }
}
