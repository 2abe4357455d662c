//! Serves the live page of a run, and past results, to browsers.
//!
//! Two sites on the HTTP server of `httpd`: `server` is the page of a run in progress, `results` the list of
//! past results. Both share `listener` (the socket and its address), `access` (access rules) and `site`
//! (what every reply carries). `feed` holds the newest document of a run, so that publishing never waits for
//! a viewer; `jobs` makes comparisons, one after the other.

mod access;
pub mod export;
mod feed;
mod jobs;
mod listener;
mod results;
mod server;
mod site;

pub use access::Access;
pub use feed::Feed;
pub use httpd::Listener;
pub use jobs::Progress;
pub use listener::{ListenError, PageListener};
pub use results::{
    Comparison, ComparisonRequest, NoteRefusal, Results, ResultsPages, serve_results,
};
pub use server::{Action, Limits, Pages, Server};
