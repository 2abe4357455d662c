//! The forwarder: clients' requests over sockets to backends, and their responses back.
//!
//! ```text
//!   client ─► connection ─► request head, checked ─► balancer ─► pool ─► exchange ─► backend
//!                 ▲                                                         │
//!                 └──────────────── response, as it comes ◄─────────────────┘
//! ```
//! Every serving thread has its own listener, connections to backends and buffers. They share the balancer behind a
//! lock that is held for one choice.

mod checks;
mod connection;
mod download;
mod exchange;
mod io;
mod list;
mod metrics;
mod operator;
mod pool;
mod request;
mod router;
mod shared;
mod tunnel;
mod upload;

pub(crate) use connection::work;
pub(crate) use operator::{keep, operate};
pub(crate) use router::Router;
