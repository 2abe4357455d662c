//! Who is to emulate a network, and its start.

use crate::netem::Netem;
use crate::network::{Emulator, Network, Subnet};
use crate::{Forwarder, Link, WanError};

/// Starts a network without hosts. `links` is the matrix of places × places: the link from place `a` to place `b` stands
/// at `a` · places + `b`. The forwarder's draws follow from the seed; netem has draws of its own, and needs the subnets.
///
/// # Errors
/// A link is wrong or cannot be emulated, the subnets are not those of all places or overlap, or the kernel refuses.
pub fn start(
    emulator: Emulator,
    subnets: &[Subnet],
    links: Vec<Link>,
    seed: u64,
) -> Result<Box<dyn Network>, WanError> {
    Ok(match emulator {
        Emulator::Forwarder => Box::new(Forwarder::start(Vec::new(), links, seed)?),
        Emulator::Netem => Box::new(Netem::start(subnets, links)?),
    })
}
