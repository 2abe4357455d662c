//! Serves a page to those who watch: who may see it, what it loads, and what follows each second.
//!
//! A small HTTP/1.1 server for a few browsers, with a thread for each connection and one request on
//! each: it needs no async runtime, and whatever a viewer does is the matter of that thread alone. `front`,
//! `door` and `gate` are the same for all pages; `server` is the page of a run that goes on, whose
//! documents replace each other, so that nobody who publishes ever waits for a viewer; `browse` is the
//! list of past results.

mod browse;
mod door;
mod feed;
mod front;
mod gate;
mod head;
mod jobs;
mod reply;
mod server;

pub use browse::{BrowsePages, Compared, Results, Wanted, browse};
pub use door::Limits;
pub use feed::Feed;
pub use front::{Front, FrontError};
pub use gate::{Gate, Refusal};
pub use jobs::Progress;
pub use server::{Act, Pages, Server};
