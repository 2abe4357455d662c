//! The front of one serving thread: its listener, and all its WebSockets and streams of events.
//!
//! A connection is a row in a table, not a task: one task looks after all of them, and an idle one
//! costs its row alone. Other tasks of the thread (broadcasts, the beat, answers that took time)
//! borrow the front for a moment; nobody holds it over an `await`. What is served is the [`House`]
//! behind it.

mod connection;
mod idle;
mod notice;
mod opening;
mod outbox;
mod receiving;
mod sending;
mod service;
mod subscribers;
mod subscriptions;
mod table;
mod thread;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use axum::Router;
use rustix::event::epoll::EventFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use tokio::sync::{mpsc, watch};

use crate::poller::{Event, Lookout};
use connection::{Connection, Stage};
use idle::Limits;
use subscribers::Audience;
use subscriptions::Seat;
use table::{Key, Table};

pub use notice::{Kind, Notice};
pub use outbox::Patience;
pub use service::{Admitted, Answered, FrontOptions, Habit, Heard, House, Later, Seating, Shared};
pub use thread::{broadcast, serve};

/// Bytes received at a time, on one buffer for the whole thread.
const RECEIVE_BYTES: usize = 16 * 1024;
/// What the listener is called; no connection is.
const LISTENER: u64 = u64::MAX;
/// Things done between two looks at what else the thread has to do: sends of a broadcast,
/// connections accepted, connections called, rows swept with an effect.
const LOT: usize = 64;

/// Held by whoever must be waited for when the thread stops.
type Alive = mpsc::Sender<Infallible>;

/// All connections of one thread.
pub struct Front<H: House> {
    /// For tasks that come back to it.
    me: Weak<RefCell<Self>>,
    house: Arc<H>,
    /// What the house keeps here.
    pub local: H::Local,
    options: FrontOptions,
    limits: Limits,
    router: Router,
    stop: watch::Receiver<bool>,
    lookout: Lookout,
    /// `None` once the thread is stopping.
    listener: Option<OwnedFd>,
    /// Connections may be waiting to be accepted.
    knocked: bool,
    rows: Table<Connection<H::Guest>>,
    /// For each channel.
    audiences: Vec<Audience>,
    /// Connections to be looked at although the kernel will not tell of them.
    calls: VecDeque<Key>,
    /// What the kernel told and was not looked at yet.
    events: Vec<Event>,
    /// The task that looks after all this, when it waits.
    waker: Option<Waker>,
    /// The clock of silence: beats so far.
    beat: u32,
    /// Rows in a stage that has an end of its own.
    passing: usize,
    /// Rows that are, or were, WebSockets or streams.
    opened: usize,
    /// What is received.
    buffer: Vec<u8>,
    /// Replies to the connection that is being heard, to be sent at once.
    replies: Vec<u8>,
    /// `None` when nothing here must be waited for any more.
    alive: Option<Alive>,
}

impl<H: House> Front<H> {
    /// The front of the calling thread, which listens already.
    ///
    /// # Errors
    /// When the kernel has no room to watch the listener.
    fn new(
        house: &Arc<H>,
        options: FrontOptions,
        listener: OwnedFd,
        stop: watch::Receiver<bool>,
        alive: Alive,
    ) -> io::Result<Rc<RefCell<Self>>> {
        let lookout = Lookout::new()?;
        lookout.watch(&listener, LISTENER)?;
        let router = house.router();
        Ok(Rc::new_cyclic(|me| {
            RefCell::new(Self {
                me: Weak::clone(me),
                house: Arc::clone(house),
                local: house.local(),
                limits: Limits::new(&options),
                router,
                stop,
                lookout,
                listener: Some(listener),
                knocked: true,
                rows: Table::with_capacity(options.connections_each),
                options,
                audiences: Vec::new(),
                calls: VecDeque::new(),
                events: Vec::new(),
                waker: None,
                beat: 0,
                passing: 0,
                opened: 0,
                buffer: vec![0; RECEIVE_BYTES],
                replies: Vec::new(),
                alive: Some(alive),
            })
        }))
    }

    /// Looks once at everything that has news. Ready when there is more to be done, after others
    /// had their turn; pending when there is not, until there is.
    ///
    /// # Errors
    /// Only when the thread's epoll instance is broken.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // While this runs, nobody has to wake it.
        self.waker = None;
        let mut events = std::mem::take(&mut self.events);
        let mut more = Poll::Ready(Ok(()));
        if events.is_empty() {
            more = self.lookout.poll_events(cx, &mut events);
        }
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => self.knocked = true,
                bits => self.notice(Key::from_bits(bits), event.flags),
            }
        }
        for _ in 0..self.calls.len().min(LOT) {
            if let Some(key) = self.calls.pop_front() {
                self.attend(key);
            }
        }
        self.accept();
        if more.is_ready() {
            more = self.lookout.poll_events(cx, &mut events);
        }
        self.events = events;
        if more.is_pending() && (self.knocked || !self.calls.is_empty()) {
            more = Poll::Ready(Ok(()));
        }
        if more.is_pending() {
            self.waker = Some(cx.waker().clone());
        }
        more
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Has a connection looked at in the next turn.
    fn call(&mut self, key: Key) {
        if let Some(row) = self.rows.get_mut(key)
            && !std::mem::replace(&mut row.called, true)
        {
            self.calls.push_back(key);
            self.wake();
        }
    }

    /// The kernel told something of a connection.
    fn notice(&mut self, key: Key, flags: EventFlags) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        if flags.contains(EventFlags::ERR) {
            return self.part(key);
        }
        let ends = EventFlags::RDHUP | EventFlags::HUP;
        row.readable |= flags.intersects(EventFlags::IN | ends);
        row.hung_up |= flags.intersects(ends);
        if flags.contains(EventFlags::OUT) && row.outbox.is_some() {
            self.drain(key);
        }
        self.attend(key);
    }

    /// Reads once from a connection, if it is listened to and there is something; if there may be
    /// more, it is looked at again in the next turn.
    fn attend(&mut self, key: Key) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        row.called = false;
        if row.inbox.is_some() && row.is_listened_to() {
            // Whole frames may have been set aside while it was not.
            self.hear(key, &mut []);
        }
        match self.rows.get_mut(key) {
            Some(row) if row.readable && row.is_listened_to() => self.receive(key),
            _ => {}
        }
    }

    fn receive(&mut self, key: Key) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        match retry_on_intr(|| recv(&row.socket, &mut buffer[..], RecvFlags::DONTWAIT)) {
            Ok((_, length @ 1..)) => {
                // A receipt that does not fill the buffer has emptied the socket (epoll(7)).
                row.readable = row.hung_up || length == buffer.len();
                if row.stage == Stage::Open {
                    row.since = self.beat;
                }
                self.hear(key, &mut buffer[..length]);
                match self.rows.get_mut(key) {
                    Some(row) if row.readable && row.is_listened_to() => self.call(key),
                    _ => {}
                }
            }
            Err(Errno::AGAIN) => row.readable = false,
            // It has left, or it broke.
            Ok(_) | Err(_) => self.part(key),
        }
        self.buffer = buffer;
    }

    /// Makes something of what came.
    fn hear(&mut self, key: Key, bytes: &mut [u8]) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        let mut kept = row.kept_bytes();
        let left = if kept.is_empty() {
            let used = self.understand(key, bytes);
            bytes[used..].to_vec()
        } else {
            kept.extend_from_slice(bytes);
            let used = self.understand(key, &mut kept);
            kept.drain(..used);
            kept
        };
        if let Some(row) = self.rows.get_mut(key)
            && matches!(row.stage, Stage::Opening | Stage::Open)
        {
            row.keep_bytes(left);
        }
    }

    /// How many of the bytes are not needed any more.
    fn understand(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        match self.rows.get_mut(key).map(|row| row.stage) {
            Some(Stage::Opening) => self.read_head(key, bytes),
            Some(Stage::Open) => self.listen(key, bytes),
            Some(Stage::Closing | Stage::Closed) | None => bytes.len(),
        }
    }

    /// Changes the seats of a connection.
    fn seat(&mut self, key: Key, seating: Seating) {
        match seating {
            Seating::Keep => {}
            Seating::Take(channel) => self.take_seat(key, channel),
            Seating::Give(channel) => {
                let row = self.rows.get_mut(key);
                if let Some(seat) = row.and_then(|row| row.seats.remove(channel)) {
                    self.leave(seat);
                }
            }
            Seating::Only(channel) => {
                let row = self.rows.get_mut(key);
                if !row.is_some_and(|row| channel.is_some_and(|channel| row.seats.has(channel))) {
                    self.leave_all(key);
                }
                if let Some(channel) = channel {
                    self.take_seat(key, channel);
                }
            }
        }
    }

    fn take_seat(&mut self, key: Key, channel: u32) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        if row.seats.has(channel) {
            return;
        }
        let at = channel as usize;
        if at >= self.audiences.len() {
            self.audiences.resize_with(at + 1, Audience::default);
        }
        let place = self.audiences[at].join(key.place());
        row.seats.add(Seat { channel, place });
    }

    fn leave_all(&mut self, key: Key) {
        while let Some(seat) = self.rows.get_mut(key).and_then(|row| row.seats.pop()) {
            self.leave(seat);
        }
    }

    fn leave(&mut self, seat: Seat) {
        let Seat { channel, place } = seat;
        let rows = &mut self.rows;
        let audience = &mut self.audiences[channel as usize];
        audience.leave(place, |listener, place| {
            if let Some((_, row)) = rows.at_mut(listener) {
                row.seats.moved(Seat { channel, place });
            }
        });
        if audience.is_empty() {
            H::emptied(&mut self.local, channel);
        }
    }

    /// Ends a connection here and now.
    fn part(&mut self, key: Key) {
        self.leave_all(key);
        let Some(row) = self.rows.remove(key) else {
            return;
        };
        if let Some(guest) = row.guest {
            self.dismiss(guest);
        }
        if row.stage != Stage::Open {
            self.passing -= 1;
        }
        if row.habit != Habit::Nothing {
            self.opened -= 1;
            self.house.connections().closed.add(1);
        }
        self.let_go();
    }

    /// Lets the thread end when it is stopping and the last connection is gone.
    fn let_go(&mut self) {
        if self.listener.is_none() && self.rows.len() == 0 {
            self.alive = None;
        }
    }

    /// Accepts nothing more, and gives up connections that have not asked for anything yet.
    fn close_doors(&mut self) {
        self.listener = None;
        for place in 0..self.rows.places() {
            if let Some((key, row)) = self.rows.at_mut(place)
                && row.stage == Stage::Opening
            {
                self.part(key);
            }
        }
        self.let_go();
    }

    /// How many WebSockets and streams there are.
    fn opened(&self) -> usize {
        self.opened
    }
}

/// Says that nothing more will be sent.
fn say_end(socket: &OwnedFd) -> Result<(), Errno> {
    shutdown(socket, Shutdown::Write)
}
