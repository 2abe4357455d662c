//! What all loops of a run need besides the plan.

use std::net::{IpAddr, SocketAddr};

use engine::driver::real::Waiting;
use engine::trace::TraceRequest;

use super::layout::Layout;
use super::protocol::Trust;

/// What all loops of a run need besides the plan, wherever they run.
#[derive(Debug)]
pub(crate) struct LoopsSetup {
    /// Where the built-in target listens.
    pub(crate) target: Option<SocketAddr>,
    /// By endpoint.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Local addresses to connect from; empty: the loops choose.
    pub(crate) sources: Vec<IpAddr>,
    /// Set if an endpoint uses TLS.
    pub(crate) trust: Option<Trust>,
    pub(crate) layout: Layout,
    /// Cores that the generator may use.
    pub(crate) cores: u32,
    /// A user that is run instead of the plan's, in a thread of this process.
    pub(crate) trace: Option<TraceRequest>,
}

impl LoopsSetup {
    /// True if loops sleep in milliseconds.
    pub(super) fn is_wide(&self) -> bool {
        self.layout.waiting == Waiting::Wide
    }
}
