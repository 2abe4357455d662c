//! The verbs, one file each.

pub(crate) mod analyze;
pub(crate) mod attempt;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod duet;
pub(crate) mod experiment;
pub(crate) mod export;
#[cfg(feature = "full")]
mod full;
#[cfg(not(feature = "full"))]
#[path = "absent/verbs.rs"]
mod full;
pub(crate) mod man;
pub(crate) mod meters;
pub(crate) mod new;
pub(crate) mod note;
pub(crate) mod probe;
#[cfg(feature = "quick")]
mod quick;
#[cfg(not(feature = "quick"))]
#[path = "absent/quick.rs"]
mod quick;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod trend;
pub(crate) mod worker;

pub(crate) use full::{fleet, import, lab, model, protos, record, reproduce};
pub(crate) use quick::{serve, ui};
