//! Stores outside of this process.

mod cached;
mod regional;
mod sql;

pub(crate) use cached::{CachedOptions, CachedStore};
pub(crate) use regional::Regional;
pub use sql::OpenError;
pub(crate) use sql::{Purpose, Sql, SqlOptions};
