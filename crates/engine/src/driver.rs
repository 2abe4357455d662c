//! The seam to the world: what carries out a shard's commands and brings it news.
//!
//! [`real`] does it with epoll and sockets on a thread; [`sim`] with a virtual clock and a
//! simulated network.

pub mod real;
pub mod sim;
