//! The reactor of one serving thread: its listener, and all its WebSockets and streams of events.
//!
//! A connection is a row in a table, not a task: one task looks after all of them, and an idle one
//! costs its row alone. Other tasks of the thread (broadcasts, the tick, answers that took time)
//! borrow the reactor for a moment; none borrows it across an `await`. What is served is the [`Service`]
//! behind it.

mod accepting;
mod encryption;
mod idle;
mod notice;
mod outbox;
mod receiving;
mod row;
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
use rustix::net::{RecvFlags, recv};
use rustls::ServerConfig;
use tokio::sync::{mpsc, watch};

use crate::poller::{Event, Poller};
use encryption::Encryption;
use idle::Limits;
use row::{Row, Stage};
use subscribers::Subscribers;
use subscriptions::Subscription;
use table::{Key, Table};

pub use notice::{Kind, Notice};
pub use outbox::QueueLimits;
pub use service::{
    AcceptedConnection, HandleResult, KeepAlive, Later, ReactorOptions, Response, Service,
    SharedReactor, SubscriptionChange,
};
pub use thread::{broadcast, serve};

/// Bytes received at a time, on one buffer for the whole thread.
const RECEIVE_BYTES: usize = 16 * 1024;
/// Key of the listener; no connection has it.
const LISTENER: u64 = u64::MAX;
/// Things done between two looks at what else the thread has to do: sends of a broadcast,
/// connections accepted, connections called, rows swept with an effect.
const BATCH: usize = 64;

/// Held by whoever must be waited for when the thread stops.
type Alive = mpsc::Sender<Infallible>;

/// All connections of one thread.
pub struct Reactor<S: Service> {
    /// For tasks that come back to it.
    me: Weak<RefCell<Self>>,
    service: Arc<S>,
    /// The state of the service on this thread.
    pub thread_state: S::ThreadState,
    options: ReactorOptions,
    limits: Limits,
    router: Router,
    stop: watch::Receiver<bool>,
    poller: Poller,
    /// `None` once the thread is stopping.
    listener: Option<OwnedFd>,
    /// Connections may be waiting to be accepted.
    may_accept: bool,
    rows: Table<Row<S::Connection>>,
    /// If connections have TLS.
    encryption: Option<Encryption>,
    /// For each channel.
    channels: Vec<Subscribers>,
    /// Connections to be processed although the kernel will not report them.
    scheduled: VecDeque<Key>,
    /// Events that the kernel reported and that were not looked at yet.
    events: Vec<Event>,
    /// The task that looks after all this, when it waits.
    waker: Option<Waker>,
    /// The clock of silence: ticks so far.
    tick: u32,
    /// Rows in a stage that has an end of its own.
    transitional: usize,
    /// Rows that are, or were, WebSockets or streams.
    opened: usize,
    /// Buffer for received bytes.
    buffer: Vec<u8>,
    /// Replies to the connection that is being heard, to be sent at once.
    replies: Vec<u8>,
    /// `None` when nothing here must be waited for any more.
    alive: Option<Alive>,
}

impl<S: Service> Reactor<S> {
    /// The reactor of the calling thread, which listens already.
    ///
    /// # Errors
    /// When the kernel has no room to watch the listener.
    fn new(
        service: &Arc<S>,
        options: ReactorOptions,
        listener: OwnedFd,
        tls: Option<Arc<ServerConfig>>,
        stop: watch::Receiver<bool>,
        alive: Alive,
    ) -> io::Result<Rc<RefCell<Self>>> {
        let poller = Poller::new()?;
        poller.watch(&listener, LISTENER)?;
        let router = service.router();
        Ok(Rc::new_cyclic(|me| {
            RefCell::new(Self {
                me: Weak::clone(me),
                service: Arc::clone(service),
                thread_state: service.thread_state(),
                limits: Limits::new(&options),
                router,
                stop,
                poller,
                listener: Some(listener),
                may_accept: true,
                rows: Table::with_capacity(options.connections_each),
                encryption: tls.map(Encryption::new),
                options,
                channels: Vec::new(),
                scheduled: VecDeque::new(),
                events: Vec::new(),
                waker: None,
                tick: 0,
                transitional: 0,
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
            more = self.poller.poll_events(cx, &mut events);
        }
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => self.may_accept = true,
                bits => self.on_event(Key::from_bits(bits), event.flags),
            }
        }
        for _ in 0..self.scheduled.len().min(BATCH) {
            if let Some(key) = self.scheduled.pop_front() {
                self.process_row(key);
            }
        }
        self.accept();
        if more.is_ready() {
            more = self.poller.poll_events(cx, &mut events);
        }
        self.events = events;
        if more.is_pending() && (self.may_accept || !self.scheduled.is_empty()) {
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
    fn schedule(&mut self, key: Key) {
        if let Some(row) = self.rows.get_mut(key)
            && !std::mem::replace(&mut row.scheduled, true)
        {
            self.scheduled.push_back(key);
            self.wake();
        }
    }

    /// The kernel reported something of a connection.
    fn on_event(&mut self, key: Key, flags: EventFlags) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        if flags.contains(EventFlags::ERR) {
            return self.close(key);
        }
        let ends = EventFlags::RDHUP | EventFlags::HUP;
        row.readable |= flags.intersects(EventFlags::IN | ends);
        row.hung_up |= flags.intersects(ends);
        if flags.contains(EventFlags::OUT) && row.outbox.is_some() {
            self.drain(key);
        }
        self.process_row(key);
    }

    /// Reads once from a connection, if it is listened to and there is something; if there may be
    /// more, it is processed again in the next turn.
    fn process_row(&mut self, key: Key) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        row.scheduled = false;
        if row.inbox.is_some() && row.is_read() {
            // Whole frames may have been set aside while it was not.
            self.process(key, &mut []);
        }
        match self.rows.get_mut(key) {
            Some(row) if row.readable && row.is_read() => self.receive(key),
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
                    row.since = self.tick;
                }
                self.heard(key, &mut buffer[..length]);
                match self.rows.get_mut(key) {
                    Some(row) if row.readable && row.is_read() => self.schedule(key),
                    _ => {}
                }
            }
            Err(Errno::AGAIN) => row.readable = false,
            // It has left, or it broke.
            Ok(_) | Err(_) => self.close(key),
        }
        self.buffer = buffer;
    }

    /// Makes something of what came.
    fn process(&mut self, key: Key, bytes: &mut [u8]) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        let mut kept = row.kept_bytes();
        let left = if kept.is_empty() {
            let used = self.interpret(key, bytes);
            bytes[used..].to_vec()
        } else {
            kept.extend_from_slice(bytes);
            let used = self.interpret(key, &mut kept);
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
    fn interpret(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        match self.rows.get_mut(key).map(|row| row.stage) {
            Some(Stage::Opening) => self.read_head(key, bytes),
            Some(Stage::Open) => self.read_frames(key, bytes),
            Some(Stage::Closing | Stage::Closed) | None => bytes.len(),
        }
    }

    /// Changes the subscriptions of a connection.
    fn change_subscription(&mut self, key: Key, change: SubscriptionChange) {
        match change {
            SubscriptionChange::Keep => {}
            SubscriptionChange::Subscribe(channel) => self.subscribe(key, channel),
            SubscriptionChange::Unsubscribe(channel) => {
                let row = self.rows.get_mut(key);
                if let Some(subscription) = row.and_then(|row| row.subscriptions.remove(channel)) {
                    self.unsubscribe(subscription);
                }
            }
            SubscriptionChange::Only(channel) => {
                let row = self.rows.get_mut(key);
                if !row.is_some_and(|row| {
                    channel.is_some_and(|channel| row.subscriptions.has(channel))
                }) {
                    self.unsubscribe_all(key);
                }
                if let Some(channel) = channel {
                    self.subscribe(key, channel);
                }
            }
        }
    }

    fn subscribe(&mut self, key: Key, channel: u32) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        if row.subscriptions.has(channel) {
            return;
        }
        let at = channel as usize;
        if at >= self.channels.len() {
            self.channels.resize_with(at + 1, Subscribers::default);
        }
        let place = self.channels[at].join(key.place());
        row.subscriptions.add(Subscription { channel, place });
    }

    fn unsubscribe_all(&mut self, key: Key) {
        while let Some(subscription) =
            self.rows.get_mut(key).and_then(|row| row.subscriptions.pop())
        {
            self.unsubscribe(subscription);
        }
    }

    fn unsubscribe(&mut self, subscription: Subscription) {
        let Subscription { channel, place } = subscription;
        let rows = &mut self.rows;
        let subscribers = &mut self.channels[channel as usize];
        subscribers.leave(place, |listener, place| {
            if let Some((_, row)) = rows.at_mut(listener) {
                row.subscriptions.moved(Subscription { channel, place });
            }
        });
        if subscribers.is_empty() {
            S::on_empty_channel(&mut self.thread_state, channel);
        }
    }

    /// Ends a connection here and now.
    fn close(&mut self, key: Key) {
        self.unsubscribe_all(key);
        self.end_encryption(key);
        let Some(row) = self.rows.remove(key) else {
            return;
        };
        if let Some(connection) = row.connection {
            self.release(connection);
        }
        if row.stage != Stage::Open {
            self.transitional -= 1;
        }
        if row.keep_alive != KeepAlive::None {
            self.opened -= 1;
            self.service.connections().closed.add(1);
        }
        self.release_if_empty();
    }

    /// Lets the thread end when it is stopping and the last connection is gone.
    fn release_if_empty(&mut self) {
        if self.listener.is_none() && self.rows.len() == 0 {
            self.alive = None;
        }
    }

    /// Accepts nothing more, and gives up connections that have not asked for anything yet.
    fn stop_accepting(&mut self) {
        self.listener = None;
        for place in 0..self.rows.places() {
            if let Some((key, row)) = self.rows.at_mut(place)
                && row.stage == Stage::Opening
            {
                self.close(key);
            }
        }
        self.release_if_empty();
    }

    /// How many WebSockets and streams there are.
    fn opened(&self) -> usize {
        self.opened
    }
}
