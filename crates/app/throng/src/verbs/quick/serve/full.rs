//! The systems that only the whole program has, and addresses of stores, caches and buses.

mod addresses;
mod ads;
mod balancer;
mod fleet;
mod queue;

use super::{failed, listening, listening_as, processes, read_text, server_options, stop, worker};

pub(super) use self::ads::ads;
pub(super) use self::balancer::balancer;
pub(super) use self::queue::queue;
pub(super) use addresses::{backing, file};
