//! Carries out a shard's commands with epoll on real sockets.
//!
//! [`real`] runs a loop on its thread. In virtual time, `engine::sim` runs shards with scripted peers.

pub mod addresses;
pub mod real;
