//! Buses outside of this process.

mod address;
mod hub;
mod link;
mod metrics;
mod nats;
mod order;
pub mod redis;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use crate::bus::{Bus, BusError, Claims};

pub use address::{BusAddress, BusAddressError};
pub use hub::Hub;
pub use metrics::BusMetrics;

/// Longest name of a market.
const NAME_MAX: usize = 64;

/// A bus outside of this process.
pub trait Remote: Bus {
    /// This process's state of the bus.
    fn hub(&self) -> &Hub;
}

/// How a bus outside of this process is used.
#[derive(Debug, Clone)]
pub struct BusOptions {
    /// The market in its store: what another market left on the same server means nothing to this one.
    /// 1 to 64 letters, digits, `-` or `_`.
    pub market: String,
    /// Games 1 to this one.
    pub games: u32,
    /// How long any call and any attempt to connect may take.
    pub wait: Duration,
    /// How the right to publish in a batch time is claimed.
    pub claims: Claims,
}

/// Connects and subscribes. Blocks until both are done, a few times the wait at most.
///
/// # Errors
/// When the server cannot be reached or refuses, and on a bad name of the market.
pub fn open(address: &BusAddress, options: &BusOptions) -> Result<Arc<dyn Remote>, BusError> {
    let name = &options.market;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !(1..=NAME_MAX).contains(&name.len()) || !name.bytes().all(plain) {
        let problem = format!("{name:?} is no name of a market");
        return Err(BusError::Unavailable(problem));
    }
    Ok(match address {
        BusAddress::Redis(address) => Arc::new(redis::RedisBus::open(address, options)?),
        BusAddress::Nats(address) => Arc::new(nats::NatsBus::open(address, options)?),
    })
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
