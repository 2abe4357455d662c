//! Reference servers that stand under load.
//!
//! An island: these servers import none of the project's other crates and are built with the
//! ecosystem's own (tokio, hyper, axum, tungstenite), so that they are an independent oracle for
//! the codecs on the other end of the wire.
//!
//! - [`ads`]: an ad network: choosing ads, events, records, an access log.
//! - [`market`]: a real-time parimutuel prediction market over WebSocket, with REST reads.
//! - [`chat`]: rooms over polling, server-sent events and WebSocket, and behind the protocols of
//!   ActionCable and Phoenix channels.
//! - [`echo`]: the smallest WebSocket and HTTP server.
//! - [`hello`]: the barest HTTP responder, faster than what measures it.
//! - [`stall`]: an HTTP server that freezes on a schedule, whose latencies are known on paper.

pub mod ads;
pub mod chat;
pub mod echo;
mod front;
pub mod hello;
pub mod market;
pub mod stall;
mod wire;

pub use wire::{Port, Stop};
