//! Addresses of stores, caches and buses outside of the process.

pub(crate) use crate::bus::BusAddress;
pub(crate) use server::database::ServerAddress;

/// Whether processes may claim in two steps there.
pub(crate) fn can_race(bus: &BusAddress) -> bool {
    !matches!(bus, BusAddress::Nats(_))
}
