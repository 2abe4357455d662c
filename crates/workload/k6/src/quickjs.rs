//! QuickJS, and all that knows it.

mod digests;
mod host;
mod memory;
mod modules;
mod pages;
mod read;
mod summary;
mod tasks;
mod user;

#[cfg(test)]
mod tests;

pub use read::read;
pub use summary::handle_summary;
pub use user::{Common, User};
