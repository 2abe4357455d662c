//! The verbs, one file each.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod worker;
