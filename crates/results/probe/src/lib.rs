//! Queries the server's side once a second: hosts, processes, databases, endpoints.
//!
//! ```text
//! Probe ─open→ a thread that queries at each tick ─Report→ Ledger ─News→ the caller
//! ```
//! | file | what it does |
//! |---|---|
//! | `pool` | the threads, and what is handed out |
//! | `ledger` | which answers are missing: pure |
//! | `newest` | the newest value of each |
//! | `reading` | one answer: gauges as they are, counters as rates |
//! | `clock` | the run's clock |
//! | `source`, `open` | what a source is; which there are |
//! | `host`, `process`, `cgroup` | this machine, from `/proc` and `/sys` |
//! | `databases` | databases, by their own clients |
//! | `nginx`, `prometheus`, `web` | pages |
//!
//! A source that does not answer is reported as lost; the others do not wait for it. What comes from
//! outside is bounded in size and time, and is never more than a number with a name.

mod cgroup;
mod clock;
#[cfg(feature = "full")]
mod databases;
#[cfg(not(feature = "full"))]
#[path = "no_databases.rs"]
mod databases;
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod ledger;
mod newest;
mod nginx;
mod open;
mod pool;
mod process;
mod prometheus;
mod reading;
mod sockets;
mod source;
mod tls;
mod web;

pub use clock::Clock;
pub use ledger::Tally;
pub use newest::{Newest, ProbeValue};
pub use open::check;
pub use pool::{Pool, ProbeEvent, SourceName};
pub use prometheus::text::{Kind, Sample, samples};
pub use reading::GENERATOR_ROLE;
pub use source::{ProbeError, TargetLocation};
pub use web::Poster;
