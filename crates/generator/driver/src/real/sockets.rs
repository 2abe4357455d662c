//! A loop's sockets by connection: connecting, receiving, sending, closing.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use engine::addresses::Choice;
use engine::command::ConnId;
use engine::tables::budget::{Charges, EXHAUSTED};
use engine::traffic::Traffic;
use plan::EndpointId;
use record::Outcome;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::setup::{LoopError, LoopSetup};
use super::sources::Sources;
use super::traffic;
use super::unix::{self, Paths};

use crate::addresses::Addresses;

/// Places of the table that are looked at for a sample of open connections.
const LOOKED_MAX: usize = 1_000;
/// Bytes kept for a peer that does not read, beyond what both kernels hold for it. At this size no
/// more is taken, so that one send of any length fits.
const BACKLOG_BYTES_MAX: usize = 16 << 20;

/// An event on a socket.
pub(super) enum SocketEvent {
    Connected,
    ConnectFailed {
        outcome: Outcome,
        detail: String,
    },
    /// `len` bytes are in the buffer; `more`: there may be others.
    Received {
        len: usize,
        more: bool,
    },
    /// The peer closed its side, or the connection broke.
    Closed(Option<(Outcome, String)>),
}

struct Socket {
    fd: OwnedFd,
    generation: u32,
    /// Events of the kernel that are not handled to the end; empty: it has no news.
    news: EventFlags,
    connecting: bool,
    /// Whether the socket might be connected to itself.
    may_be_own_peer: bool,
    /// Bytes that the kernel would not take yet.
    #[expect(clippy::box_collection, reason = "8 bytes instead of 32, and rarely needed")]
    backlog: Option<Box<VecDeque<u8>>>,
}

/// The sockets, addressed by connection slot.
pub(super) struct Sockets {
    pub(super) epoll: OwnedFd,
    table: Vec<Option<Socket>>,
    /// Those with news, each once, and some that are gone. The kernel reports only what is new
    /// (edge-triggered), so what is not handled to the end is remembered here.
    ready: VecDeque<ConnId>,
    addresses: Addresses,
    /// By endpoint; empty: there are no Unix sockets.
    unix: Paths,
    sources: Sources,
    /// True if a target is at an IPv6 address; all are then counted as such.
    ipv6: bool,
    /// Memory of the bytes that wait to be sent, by slot.
    charges: Charges,
    /// Traffic of the connections that were closed.
    closed: Traffic,
    /// Index in the table at which the next sample begins.
    sample_at: usize,
}

impl Sockets {
    pub(super) fn new(setup: &LoopSetup, unix: Paths) -> Result<Sockets, LoopError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|source| LoopError::System { what: "create an epoll instance", source })?;
        // Without events to wait for: an older kernel, or an emulator, does not know the call and would never
        // report any.
        let mut none = [const { std::mem::MaybeUninit::uninit() }];
        epoll::wait(&epoll, &mut none, Some(&Timespec::default())).map_err(|source| {
            LoopError::System {
                what: "wait for sockets (epoll_pwait2 needs Linux 5.11 or newer)",
                source,
            }
        })?;
        let share = setup.shard.share;
        Ok(Sockets {
            epoll,
            table: Vec::new(),
            ready: VecDeque::new(),
            addresses: Addresses::new(&setup.addresses),
            unix,
            ipv6: setup.addresses.all_first().any(|address| address.is_ipv6()),
            charges: Charges::new(&setup.shard.buffers),
            closed: Traffic::default(),
            sample_at: 0,
            sources: Sources::new(&setup.sources, share.index, setup.users_max),
        })
    }

    /// Starts a connection; news of it comes later, unless it fails at once.
    pub(super) fn connect(
        &mut self,
        id: ConnId,
        endpoint: EndpointId,
        choice: Choice,
    ) -> Result<(), (Outcome, String)> {
        if let Some(path) = self.unix.get(endpoint.index()).and_then(Option::as_ref) {
            let fd = unix::connect(path)?;
            let added = self.add(id, fd, false);
            return added.map_err(failure);
        }
        let address = self.addresses.pick(endpoint, choice);
        for _ in 0..self.sources.count() {
            match self.try_connect(id, address) {
                Err(Errno::ADDRNOTAVAIL) if self.sources.exhausted(address.ip()) => {}
                Err(errno) => return Err(connect_failure(errno, address)),
                Ok(()) => return Ok(()),
            }
        }
        Err(connect_failure(Errno::ADDRNOTAVAIL, address))
    }

    fn try_connect(&mut self, id: ConnId, address: SocketAddr) -> Result<(), Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        let source = self.sources.next(address.ip());
        if let Some(source) = source {
            bind_without_port(&fd)?;
            net::bind(&fd, &SocketAddr::new(source, 0))?;
        }
        match net::connect(&fd, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno),
        }
        let may_be_own_peer = source.is_none_or(|source| source == address.ip());
        self.add(id, fd, may_be_own_peer)
    }

    /// Adds a socket that is being connected.
    fn add(&mut self, id: ConnId, fd: OwnedFd, may_be_own_peer: bool) -> Result<(), Errno> {
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &fd, EventData::new_u64(id.to_bits()), interest)?;
        let slot = id.slot as usize;
        if slot >= self.table.len() {
            self.table.resize_with(slot + 1, || None);
        }
        let socket = Socket {
            fd,
            generation: id.generation,
            news: EventFlags::empty(),
            connecting: true,
            may_be_own_peer,
            backlog: None,
        };
        self.table[slot] = Some(socket);
        Ok(())
    }

    fn get(&mut self, id: ConnId) -> Option<&mut Socket> {
        let socket = self.table.get_mut(id.slot as usize)?.as_mut()?;
        (socket.generation == id.generation).then_some(socket)
    }

    /// Appends a socket to those with news.
    pub(super) fn note(&mut self, id: ConnId, flags: EventFlags) {
        let Some(socket) = self.get(id) else { return };
        let known = !socket.news.is_empty();
        socket.news |= flags;
        if !known {
            self.ready.push_back(id);
        }
    }

    /// More are not open, at any rate.
    pub(super) fn count(&self) -> usize {
        self.table.len()
    }

    /// How many may have news.
    pub(super) fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// Takes out the first of those with news, and its events.
    pub(super) fn next_ready(&mut self) -> Option<(ConnId, EventFlags)> {
        while let Some(id) = self.ready.pop_front() {
            if let Some(socket) = self.get(id) {
                let flags = std::mem::replace(&mut socket.news, EventFlags::empty());
                return Some((id, flags));
            }
        }
        None
    }

    /// The next event on a socket with news; `None`: nothing more.
    pub(super) fn next_news(
        &mut self,
        id: ConnId,
        flags: EventFlags,
        buffer: &mut [u8],
    ) -> Option<SocketEvent> {
        let mut socket = self.get(id)?;
        if socket.connecting {
            return connected(socket, flags);
        }
        if socket.backlog.is_some() && flags.contains(EventFlags::OUT) {
            flush(socket);
            let left = backlog_bytes(socket);
            // It did not grow.
            self.charges.set(id.slot, left);
            socket = self.get(id)?;
        }
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if !flags.intersects(EventFlags::IN | ended) {
            return None;
        }
        match net::recv(&socket.fd, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => Some(SocketEvent::Closed(None)),
            // Less than the buffer holds: the socket is empty, and the next bytes make a new event.
            // The end of the stream makes no event after its own, so another receive checks for it.
            Ok((len, _)) => {
                let more = len == buffer.len() || flags.intersects(ended);
                Some(SocketEvent::Received { len, more })
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(errno) => Some(SocketEvent::Closed(Some(failure(errno)))),
        }
    }

    /// Sends, or keeps what the kernel does not take now. Returns how the connection broke.
    pub(super) fn send(&mut self, id: ConnId, bytes: &[u8]) -> Option<(Outcome, String)> {
        let socket = self.get(id)?;
        if is_full(socket) {
            // There may be room by now that the kernel has not reported.
            flush(socket);
            if is_full(socket) {
                let detail = "the peer does not read: 16 MiB wait to be sent".to_owned();
                return Some((Outcome::Other, detail));
            }
        }
        if let Some(backlog) = &mut socket.backlog {
            backlog.extend(bytes);
        } else {
            let taken = match net::send(&socket.fd, bytes, SendFlags::NOSIGNAL) {
                Ok(taken) => taken,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(errno) => return Some(failure(errno)),
            };
            if taken < bytes.len() {
                socket.backlog = Some(Box::new(bytes[taken..].iter().copied().collect()));
            }
        }
        let waiting = backlog_bytes(socket);
        let fits = self.charges.set(id.slot, waiting);
        (!fits).then(|| (Outcome::NoMemory, EXHAUSTED.to_owned()))
    }

    /// Closes. What the kernel does not take at once is not sent any more.
    pub(super) fn close(&mut self, id: ConnId) {
        let ipv6 = self.ipv6;
        if let Some(socket) = self.get(id) {
            if socket.backlog.is_some() {
                flush(socket);
            }
            let traffic = (!socket.connecting).then(|| traffic::read(&socket.fd, ipv6));
            if let Some(traffic) = traffic.flatten() {
                self.closed.add(&traffic);
            }
            self.charges.clear(id.slot);
            self.table[id.slot as usize] = None;
        }
    }

    /// Traffic on the wire of all connections so far: those that were closed, and those that are
    /// open, of which at most `sample_max` are read and stand for the others.
    pub(super) fn traffic(&mut self, sample_max: usize) -> Traffic {
        let mut sum = Traffic::default();
        let mut sampled = 0;
        let mut open = 0;
        let mut looked = 0;
        let len = self.table.len();
        for place in 0..len {
            let place = (self.sample_at + place) % len;
            if sampled >= sample_max || looked >= LOOKED_MAX {
                self.sample_at = place;
                break;
            }
            looked += 1;
            let Some(socket) = self.table[place].as_ref().filter(|s| !s.connecting) else {
                continue;
            };
            if let Some(traffic) = traffic::read(&socket.fd, self.ipv6) {
                sum.add(&traffic);
                sampled += 1;
            }
            open += 1;
        }
        // The table has free places, too; the share of open ones is that of the places looked at.
        let all = (open as u128 * len as u128 / looked.max(1) as u128) as usize;
        let mut all_traffic = self.closed;
        all_traffic.add(&sum.scaled(all, sampled));
        all_traffic
    }
}

fn backlog_bytes(socket: &Socket) -> usize {
    let backlog = socket.backlog.as_ref();
    backlog.map_or(0, |backlog| backlog.len())
}

fn is_full(socket: &Socket) -> bool {
    backlog_bytes(socket) >= BACKLOG_BYTES_MAX
}

/// A failure shows at the next receive.
fn flush(socket: &mut Socket) {
    while let Some(backlog) = &mut socket.backlog {
        let (front, _) = backlog.as_slices();
        match net::send(&socket.fd, front, SendFlags::NOSIGNAL) {
            Ok(taken) => {
                backlog.drain(..taken);
                if backlog.is_empty() {
                    socket.backlog = None;
                }
            }
            Err(_) => return,
        }
    }
}

fn connected(socket: &mut Socket, flags: EventFlags) -> Option<SocketEvent> {
    if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
        let errno = match sockopt::socket_error(&socket.fd) {
            Ok(Err(errno)) | Err(errno) => errno,
            Ok(Ok(())) => Errno::CONNRESET,
        };
        let (outcome, detail) = failure(errno);
        return Some(SocketEvent::ConnectFailed { outcome, detail });
    }
    if !flags.contains(EventFlags::OUT) {
        return None;
    }
    socket.connecting = false;
    if socket.may_be_own_peer && is_self_connected(socket) {
        let detail = "the socket connected to itself: no server listens on the port, which is in \
                      the ephemeral range; reserve it with net.ipv4.ip_local_reserved_ports";
        return Some(SocketEvent::ConnectFailed {
            outcome: Outcome::SelfConnect,
            detail: detail.to_owned(),
        });
    }
    Some(SocketEvent::Connected)
}

/// TCP's simultaneous open: a socket can be connected to itself (RFC 9293 §3.5).
fn is_self_connected(socket: &Socket) -> bool {
    match (net::getsockname(&socket.fd), net::getpeername(&socket.fd)) {
        (Ok(own), Ok(peer)) => Some(own) == peer,
        _ => false,
    }
}

/// Lets the kernel choose the port when connecting, by destination, so that ports can be shared
/// among destinations and the search stays short (ip(7)).
fn bind_without_port(fd: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    #[expect(unsafe_code, reason = "rustix has no call for this option")]
    // SAFETY: the pointer is to a live c_int of the size given; the descriptor is open.
    let result = unsafe {
        let value = (&raw const on).cast();
        let raw = fd.as_fd().as_raw_fd();
        libc::setsockopt(raw, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, value, size)
    };
    if result == 0 { Ok(()) } else { Err(Errno::INVAL) }
}

fn connect_failure(errno: Errno, address: SocketAddr) -> (Outcome, String) {
    let (outcome, detail) = failure(errno);
    (outcome, format!("{address}: {detail}"))
}

/// An error of the kernel as an outcome and a text.
pub(super) fn failure(errno: Errno) -> (Outcome, String) {
    let outcome = match errno {
        Errno::CONNREFUSED => Outcome::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Outcome::Reset,
        Errno::TIMEDOUT => Outcome::ConnectTimeout,
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::NETDOWN | Errno::HOSTDOWN => {
            Outcome::Unreachable
        }
        Errno::MFILE | Errno::NFILE => Outcome::NoFiles,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Outcome::NoPorts,
        Errno::NOMEM | Errno::NOBUFS | Errno::NOSPC => Outcome::NoMemory,
        _ => Outcome::Other,
    };
    let text = std::io::Error::from(errno).to_string();
    // "Connection refused (os error 111)": the number means nothing to users.
    let text = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
    (outcome, text)
}

#[cfg(test)]
mod tests;
