//! What all loops of a run need besides the plan.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use driver::addresses::AddressBook;
use driver::real::Waiting;
use engine::trace::TraceRequest;
use machine::thread::Namespace;

use super::layout::Layout;
use super::protocol::Trust;

/// Where users of a region connect from, and to.
#[derive(Debug, Clone)]
pub struct Place {
    /// `None`: the generator's own.
    pub netns: Option<Namespace>,
    /// What the names of endpoints stand for.
    pub addresses: Arc<AddressBook>,
}

/// What all loops of a run need besides the plan, wherever they run.
#[derive(Debug)]
pub struct LoopsSetup {
    /// Where the built-in target listens.
    pub target: Option<SocketAddr>,
    /// By region; without regions there is one. Worker processes have no namespaces and all the same addresses.
    pub places: Vec<Place>,
    /// Local addresses to connect from; empty: the loops choose.
    pub sources: Vec<IpAddr>,
    /// Set if an endpoint uses TLS.
    pub trust: Option<Trust>,
    /// How many loops, and how they wait.
    pub layout: Layout,
    /// Cores that the generator may use.
    pub cores: u32,
    /// A user that is run instead of the plan's, in a thread of this process.
    pub trace: Option<TraceRequest>,
}

impl LoopsSetup {
    /// Those of the first region; `None`: there is no place.
    pub(super) fn addresses(&self) -> Option<&Arc<AddressBook>> {
        self.places.first().map(|place| &place.addresses)
    }

    /// True if loops sleep in milliseconds.
    pub(super) fn is_wide(&self) -> bool {
        self.layout.waiting == Waiting::Wide
    }
}
