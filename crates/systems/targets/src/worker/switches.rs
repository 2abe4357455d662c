//! Faults that a signal begins and, sent again, ends.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Fault that a signal switches on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Service times grow by the factor of its pace.
    Slow,
    /// No work proceeds and nothing is answered.
    Freeze,
    /// Requests fail by the error rate.
    Errors,
    /// It ends as at a stop, is away for a while and starts cold, without the faults of signals.
    Restart,
}

/// The faults in force that signals began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Switches {
    pub(super) slow: bool,
    pub(super) frozen: bool,
    pub(super) failing: bool,
}

impl Switches {
    /// Begins a fault, or ends it.
    pub(super) fn turn(&mut self, fault: Fault) {
        let switch = match fault {
            Fault::Slow => &mut self.slow,
            Fault::Freeze => &mut self.frozen,
            Fault::Errors => &mut self.failing,
            Fault::Restart => return,
        };
        *switch = !*switch;
    }
}

/// The signals that a worker takes.
#[derive(Debug)]
pub(super) struct Signals {
    each: [Option<(Signal, Fault)>; 2],
}

impl Signals {
    /// Takes those that have a fault; others do what they always do.
    ///
    /// # Errors
    /// If they cannot be received.
    pub(super) fn listen(usr1: Option<Fault>, usr2: Option<Fault>) -> io::Result<Self> {
        let taken = |fault: Option<Fault>, kind| {
            fault.map(|fault| signal(kind).map(|signal| (signal, fault))).transpose()
        };
        Ok(Self {
            each: [
                taken(usr1, SignalKind::user_defined1())?,
                taken(usr2, SignalKind::user_defined2())?,
            ],
        })
    }

    /// The fault of the next signal.
    pub(super) async fn next(&mut self) -> Fault {
        let [first, second] = &mut self.each;
        tokio::select! {
            fault = received(first) => fault,
            fault = received(second) => fault,
        }
    }
}

async fn received(taken: &mut Option<(Signal, Fault)>) -> Fault {
    if let Some((signal, fault)) = taken
        && signal.recv().await.is_some()
    {
        return *fault;
    }
    std::future::pending().await
}
