//! A small blocking HTTP/1.1 server: accepts within limits, reads a request's head, replies.
//!
//! It serves the live page, the results browser and the metrics page: a few clients each. Every connection
//! has a thread of its own and carries one request, so a slow client delays nobody else. Every step has a
//! limit: connections, the bytes and the time of a head, the time of a reply. Who may send requests, and
//! what is replied, is up to the [`Handler`].
//!
//! | file | what it does |
//! |---|---|
//! | `listener` | accepts connections within limits |
//! | `head` | parses a request's head: pure |
//! | `request` | reads a head before its deadline; a request that a handler answers |
//! | `reply` | writes a reply |

mod head;
mod listener;
mod reply;
mod request;

pub use head::{BadHead, HEAD_BYTES_MAX, Head, Method};
pub use listener::{Config, Handler, Limits, Listener};
pub use reply::Reply;
pub use request::{DeadlineWriter, Request};
