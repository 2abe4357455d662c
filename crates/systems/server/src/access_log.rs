//! The access log: a line for each request, in the combined format or as JSON.

mod entry;
mod file;
mod layer;

pub use entry::{Entry, Label, LogFormat};
pub use file::{AccessLog, LogCounts};
pub use layer::{LogSubject, logged};
