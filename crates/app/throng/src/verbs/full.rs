//! The verbs that only the whole program has.

pub(crate) mod fleet;
pub(crate) mod import;
pub(crate) mod lab;
pub(crate) mod model;
pub(crate) mod protos;
pub(crate) mod record;
pub(crate) mod reproduce;
mod roots;
