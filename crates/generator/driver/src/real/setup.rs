//! The setup of a loop, its reports, and the reasons why it cannot run.

use std::net::IpAddr;
use std::sync::Arc;

use engine::measure::Delta;
use engine::trace::TraceRequest;
use engine::{Setup, SetupError};
use machine::thread::{Namespace, NamespaceError};
use serde::{Deserialize, Serialize};

use super::barrier::StartBarrier;
use super::stop::StopFlag;
use crate::addresses::AddressBook;

/// How a loop waits for due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// Microseconds: sleep, then spin.
    Precise,
    /// Milliseconds: sleep.
    Wide,
}

/// Everything that a loop needs besides the plan.
#[derive(Debug, Clone)]
pub struct LoopSetup {
    pub shard: Setup,
    pub waiting: WaitMode,
    /// The network namespace it connects from; `None`: the thread's own.
    pub netns: Option<Namespace>,
    /// Addresses that users connect to.
    pub addresses: Arc<AddressBook>,
    /// Local addresses to connect from, in turn; empty: the kernel's choice, and loopback
    /// addresses of the loop's own if ports run out.
    pub sources: Arc<[IpAddr]>,
    /// How many users the run may have at once, in all loops together.
    pub users_max: u64,
    /// The core it runs on; `None`: any.
    pub core: Option<usize>,
    /// The barrier at which the loop waits for the run's zero once it is ready.
    pub barrier: Arc<StartBarrier>,
    pub stop: Arc<StopFlag>,
    /// A user that is run instead of the plan's, which then has none.
    pub trace: Option<TraceRequest>,
}

/// A report of a loop while it runs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum LoopNews {
    /// An interval was closed.
    Delta(Box<Delta>),
    /// The loop has returned; nothing more comes from it.
    Ended { loop_id: u16 },
    /// Rows could not be written fast enough; from now on one in `rate` is kept.
    Thinned { loop_id: u16, at_ns: u64, rate: u32 },
}

/// Why a loop cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel denied something the loop cannot do without.
    #[error("cannot {what}")]
    System {
        what: &'static str,
        #[source]
        source: rustix::io::Errno,
    },
}
