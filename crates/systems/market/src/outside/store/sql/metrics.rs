//! Metrics of the relational store.

use server::metrics::{Counter, Page};

/// Kinds of calls of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Games,
    Game,
    Pools,
    Pool,
    OpenPool,
    OpenAccount,
    CloseAccount,
    Predict,
    Predictions,
    LastEvent,
    Record,
    Unsettled,
    Pending,
    Settle,
    Announced,
    Audit,
    Undecided,
    Decide,
    Copy,
    OpenPools,
    Take,
    Closed,
    Ask,
    Question,
    Questions,
    Befriend,
    Friends,
}

impl Call {
    /// All of them, in the order of their declaration.
    pub(crate) const ALL: [Self; 27] = [
        Self::Games,
        Self::Game,
        Self::Pools,
        Self::Pool,
        Self::OpenPool,
        Self::OpenAccount,
        Self::CloseAccount,
        Self::Predict,
        Self::Predictions,
        Self::LastEvent,
        Self::Record,
        Self::Unsettled,
        Self::Pending,
        Self::Settle,
        Self::Announced,
        Self::Audit,
        Self::Undecided,
        Self::Decide,
        Self::Copy,
        Self::OpenPools,
        Self::Take,
        Self::Closed,
        Self::Ask,
        Self::Question,
        Self::Questions,
        Self::Befriend,
        Self::Friends,
    ];

    /// Name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Games => "games",
            Self::Game => "game",
            Self::Pools => "pools",
            Self::Pool => "pool",
            Self::OpenPool => "open_pool",
            Self::OpenAccount => "open_account",
            Self::CloseAccount => "close_account",
            Self::Predict => "predict",
            Self::Predictions => "predictions",
            Self::LastEvent => "last_event",
            Self::Record => "record",
            Self::Unsettled => "unsettled",
            Self::Pending => "pending",
            Self::Settle => "settle",
            Self::Announced => "announced",
            Self::Audit => "audit",
            Self::Undecided => "undecided",
            Self::Decide => "decide",
            Self::Copy => "copy",
            Self::OpenPools => "open_pools",
            Self::Take => "take",
            Self::Closed => "closed",
            Self::Ask => "pose",
            Self::Question => "question",
            Self::Questions => "questions",
            Self::Befriend => "befriend",
            Self::Friends => "friends",
        }
    }
}

/// Metrics of one kind of call on one server.
#[derive(Debug, Default)]
pub(crate) struct CallMetrics {
    /// Calls that ended, however they did.
    pub(crate) calls: Counter,
    /// Calls that the store could not answer.
    pub(crate) failed: Counter,
    /// Statements, which are round trips.
    pub(crate) statements: Counter,
    /// Microseconds from the call to its answer, summed over all calls.
    pub(crate) micros: Counter,
}

/// Metrics of one server.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    calls: [CallMetrics; Call::ALL.len()],
    /// Connections made, the renewed ones among them.
    pub(crate) connected: Counter,
    /// Connections lost.
    pub(crate) lost: Counter,
    /// Connections closed for others with other limits.
    pub(crate) closed: Counter,
    /// Connections made in place of lost ones.
    pub(crate) renewed: Counter,
}

impl ServerMetrics {
    /// Metrics of one kind of call.
    pub(crate) fn call(&self, call: Call) -> &CallMetrics {
        &self.calls[call as usize]
    }

    /// Connections open now.
    pub(crate) fn open(&self) -> u64 {
        let ended = self.lost.get() + self.closed.get();
        self.connected.get().saturating_sub(ended)
    }
}

/// Metrics of the relational store.
#[derive(Debug, Default)]
pub(crate) struct SqlMetrics {
    pub(crate) master: ServerMetrics,
    /// Stays at zero without a replica.
    pub(crate) replica: ServerMetrics,
    /// Calls that were not answered by their deadline.
    pub(crate) late: Counter,
    /// Calls refused at once because too many waited for a connection.
    pub(crate) full: Counter,
    /// Transactions repeated after a deadlock, or because others held their rows for too long.
    pub(crate) retried: Counter,
    /// Reads that went to the master because the replica had no connection.
    pub(crate) diverted: Counter,
}

impl SqlMetrics {
    /// Adds the figures to a metrics page.
    pub(crate) fn write(&self, page: &mut Page) {
        for (server, name) in [(&self.master, "store"), (&self.replica, "store_replica")] {
            server.write(page, name);
        }
        page.counters([
            (
                "store_late_total",
                "Calls of the store that were not answered in time",
                self.late.get(),
            ),
            (
                "store_full_total",
                "Calls refused because too many waited for the store",
                self.full.get(),
            ),
            (
                "store_retried_total",
                "Transactions repeated because others held their rows",
                self.retried.get(),
            ),
            (
                "store_diverted_total",
                "Reads that went to the master because the replica was away",
                self.diverted.get(),
            ),
        ]);
    }
}

impl ServerMetrics {
    fn write(&self, page: &mut Page, name: &str) {
        if self.connected.get() == 0 {
            return;
        }
        page.gauge(&format!("{name}_connections"), "Connections to the store", self.open());
        page.counter(
            &format!("{name}_connections_lost_total"),
            "Connections to the store that were lost",
            self.lost.get(),
        );
        for call in Call::ALL {
            let counts = self.call(call);
            let call = call.name();
            page.counters([
                (
                    &format!("{name}_{call}_calls_total"),
                    "Calls of the store of this kind",
                    counts.calls.get(),
                ),
                (
                    &format!("{name}_{call}_failed_total"),
                    "Calls of this kind that it could not answer",
                    counts.failed.get(),
                ),
                (
                    &format!("{name}_{call}_round_trips_total"),
                    "Round trips of these calls",
                    counts.statements.get(),
                ),
                (
                    &format!("{name}_{call}_microseconds_total"),
                    "Time from these calls to their answers",
                    counts.micros.get(),
                ),
            ]);
        }
    }
}
