//! Carries out what a shard wants done: with epoll on real sockets, or on a simulated network in virtual time.
//!
//! [`real`] runs a loop on its thread; [`sim`] runs shards with a virtual clock and scripted peers.

pub mod addresses;
pub mod real;
pub mod sim;
