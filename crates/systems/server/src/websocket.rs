//! WebSockets at the server's end (RFC 6455).

pub mod frames;
mod socket;

pub use socket::{Limits, Socket};
