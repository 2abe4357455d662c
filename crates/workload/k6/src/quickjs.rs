//! QuickJS, and all that knows it.

mod digests;
mod host;
mod memory;
mod modules;
mod read;
mod tasks;
mod user;

#[cfg(test)]
mod tests;

pub use read::read;
pub use user::{Common, User};
