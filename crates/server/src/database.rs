//! Databases of the systems' own.

mod sqlite;

pub use sqlite::{Database, Unusable};
