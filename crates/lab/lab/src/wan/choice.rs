//! Choice of a network's emulator, if it may be either, and its start.

use crate::wan::netem::{Netem, Suits, available, suits};
use crate::wan::network::{Emulator, Network, Subnet};
use crate::wan::{Forwarder, Link, WanError};

/// The emulator that is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmulatorRequest {
    /// netem, where the kernel has it and it does exactly what the links say; else the forwarder.
    Auto,
    /// netem, also where it does it in another way.
    Netem,
    /// The forwarder.
    #[default]
    Forwarder,
}

/// The emulator that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The chosen emulator.
    pub emulator: Emulator,
    /// Why not netem, or what it does in another way than the forwarder; `None`: nothing is to be said.
    pub why: Option<String>,
}

/// Chooses, for these links and this kernel.
///
/// # Errors
/// netem is wanted, and the kernel does not have it, or a link is none of its.
pub fn choose(wanted: EmulatorRequest, links: &[Link]) -> Result<Choice, WanError> {
    choose_with(wanted, links, available)
}

fn choose_with(
    wanted: EmulatorRequest,
    links: &[Link],
    available: impl FnOnce() -> Result<(), WanError>,
) -> Result<Choice, WanError> {
    let forwarder = |why: Option<String>| Choice { emulator: Emulator::Forwarder, why };
    let netem = |why: Option<String>| Choice { emulator: Emulator::Netem, why };
    let suits = suits(links);
    Ok(match wanted {
        EmulatorRequest::Forwarder => forwarder(None),
        EmulatorRequest::Netem => {
            if let Suits::No(why) = suits {
                return Err(WanError::NotByNetem(why));
            }
            available()?;
            match suits {
                Suits::Differently(how) => netem(Some(how.join("; "))),
                Suits::Exactly | Suits::No(_) => netem(None),
            }
        }
        EmulatorRequest::Auto => match suits {
            Suits::No(why) => forwarder(Some(format!("netem cannot do {why}"))),
            Suits::Differently(how) => {
                forwarder(Some(format!("netem differs in {}", how.join("; "))))
            }
            Suits::Exactly => match available() {
                Ok(()) => netem(None),
                Err(error) => forwarder(Some(error.to_string())),
            },
        },
    })
}

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

#[cfg(test)]
mod tests;
