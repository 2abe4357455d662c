//! Serving threads, and the files that each may open.

mod files;
mod pool;
mod sizing;

pub(crate) use files::raise_open_files;
pub use files::{limit_open_files, open_files_max};
pub use pool::{Crew, Port, Post, Setup};
pub use sizing::{CONNECTIONS_MAX, connections_each, enough_threads, threads_of_cores};
