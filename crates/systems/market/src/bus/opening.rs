//! Opens a bus outside of this process.

use std::sync::Arc;

use super::nats::NatsBus;
use super::redis::RedisBus;
use super::{BusAddress, BusError, BusOptions, Remote};

/// Longest name of a market.
const NAME_MAX: usize = 64;

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
        BusAddress::Redis(address) => Arc::new(RedisBus::open(address, options)?),
        BusAddress::Nats(address) => Arc::new(NatsBus::open(address, options)?),
    })
}
