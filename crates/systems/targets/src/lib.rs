//! Reference servers that stand under load.
//!
//! - [`chat`]: rooms over polling, server-sent events and WebSocket, and behind the protocols of
//!   ActionCable and Phoenix channels.
//! - [`echo`]: the smallest WebSocket and HTTP server.
//! - [`grpc`]: a server of gRPC that echoes messages.
//! - [`hello`]: the barest HTTP responder, faster than what measures it.
//! - [`stall`]: an HTTP server that freezes on a schedule, whose latencies are known on paper.
//! - [`worker`]: a station with a queue and servers, for balancers to balance.

mod alarm;
pub mod chat;
pub mod echo;
pub mod grpc;
pub mod hello;
pub mod stall;
mod threads;
pub mod worker;
