//! The settings of the loops of a run besides the plan.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use driver::addresses::AddressBook;
use driver::real::WaitMode;
use engine::trace::TraceRequest;
use machine::thread::Namespace;

use super::layout::Layout;
use super::protocol::Trust;

/// The network of the users of a region: where they connect from, and to.
#[derive(Debug, Clone)]
pub struct Place {
    /// The network namespace; `None`: the generator's own.
    pub netns: Option<Namespace>,
    /// The addresses of the names of endpoints.
    pub addresses: Arc<AddressBook>,
}

/// The settings of all loops of a run besides the plan, wherever they run.
#[derive(Debug)]
pub struct LoopsSetup {
    /// The address of the built-in target.
    pub target: Option<SocketAddr>,
    /// The network of each region; without regions there is one. Worker processes have no namespaces and all the same
    /// addresses.
    pub places: Vec<Place>,
    /// Local addresses to connect from; empty: the loops choose.
    pub sources: Vec<IpAddr>,
    /// Set if an endpoint uses TLS.
    pub trust: Option<Trust>,
    /// The number of loops, and their way of waiting.
    pub layout: Layout,
    /// Cores that the generator may use.
    pub cores: u32,
    /// A user that is run instead of the plan's, in a thread of this process.
    pub trace: Option<TraceRequest>,
}

impl LoopsSetup {
    /// The addresses of the first region; `None`: there is no place.
    pub(super) fn addresses(&self) -> Option<&Arc<AddressBook>> {
        self.places.first().map(|place| &place.addresses)
    }

    /// True if loops sleep in milliseconds.
    pub(super) fn is_wide(&self) -> bool {
        self.layout.waiting == WaitMode::Wide
    }
}
