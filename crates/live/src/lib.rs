//! Serves a page to those who watch: who may see it, what it loads, and what follows each second.
//!
//! A small HTTP/1.1 server for a few browsers, with a thread for each connection and one request on
//! each: it needs no async runtime, and whatever a viewer does is the matter of that thread alone. What
//! is published replaces what was published before, so nobody who publishes ever waits for a viewer.

mod feed;
mod gate;
mod head;
mod reply;
mod server;

pub use feed::Feed;
pub use gate::{Gate, Refusal, random_token, token_is_sound};
pub use server::{Act, Limits, Pages, Server};
