//! Buses outside of this process.

use std::time::Duration;

use super::{Bus, Claims, Hub};

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
