//! The thread that resolves names again while a run goes on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use driver::real::Zero;
use machine::clock::{Dilation, monotonic_ns};
use record::schema::EventKind;

use super::Lookup;

/// Most changes of addresses that are events; the others are counted.
const CHANGES_MAX: u64 = 200;

/// An event with its time since the run's start.
type TimedEvent = (u64, EventKind);

/// Names that are resolved again.
#[derive(Debug)]
pub struct ResolverThread {
    stop: Option<Sender<()>>,
    events: Receiver<TimedEvent>,
    thread: Option<JoinHandle<()>>,
}

impl ResolverThread {
    /// Begins; `None`: no name's address can change.
    pub fn start(lookups: Vec<Lookup>, zero: Zero) -> Option<ResolverThread> {
        lookups.iter().find_map(Lookup::due_ns)?;
        let (stop, stopped) = channel();
        let (sender, events) = channel();
        let thread = std::thread::spawn(move || run(lookups, zero, &stopped, &sender));
        Some(ResolverThread { stop: Some(stop), events, thread: Some(thread) })
    }

    /// The events since the last call.
    pub fn events(&mut self) -> Vec<TimedEvent> {
        self.events.try_iter().collect()
    }

    /// Ends, and returns the remaining events.
    pub fn finish(mut self) -> Vec<TimedEvent> {
        drop(self.stop.take());
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            // It has met a broken invariant; the panic continues here.
            std::panic::resume_unwind(panic);
        }
        self.events()
    }
}

/// The channel of events, and the number of changes so far.
struct Outbox<'a> {
    events: &'a Sender<TimedEvent>,
    zero: Zero,
    changes: u64,
}

impl Outbox<'_> {
    fn send(&mut self, what: EventKind) {
        if matches!(what, EventKind::AddressesChanged { .. }) {
            self.changes += 1;
            if self.changes > CHANGES_MAX {
                return;
            }
        }
        let at_ns = monotonic_ns().saturating_sub(self.zero.monotonic_ns);
        // The receiver is gone if the run is being torn down.
        let _ = self.events.send((at_ns, what));
    }
}

fn run(mut lookups: Vec<Lookup>, zero: Zero, stopped: &Receiver<()>, events: &Sender<TimedEvent>) {
    let mut out = Outbox { events, zero, changes: 0 };
    while let Some(due_ns) = lookups.iter().filter_map(Lookup::due_ns).min() {
        let wait = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        let wait = Dilation::of_process().stretch(wait);
        if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        for lookup in &mut lookups {
            let happened = lookup.turn(monotonic_ns());
            happened.into_iter().for_each(|what| out.send(what));
        }
    }
    for what in lookups.iter_mut().flat_map(Lookup::end) {
        out.send(what);
    }
    if let Some(more @ 1..) = out.changes.checked_sub(CHANGES_MAX) {
        let more = units::counted(more, "further change");
        let text = format!("{more} of addresses of names are not in the events");
        out.send(EventKind::Note { text });
    }
}
