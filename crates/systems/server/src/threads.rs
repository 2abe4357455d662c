//! Serving threads, and the files that each may open.

mod files;
mod pool;

pub use files::open_files_max;
pub(crate) use files::{limit_open_files, raise_open_files};
pub use pool::{Port, ThreadContext, serve};
