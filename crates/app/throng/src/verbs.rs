//! The verbs, one file each.

#[cfg(not(feature = "full"))]
mod absent;
pub(crate) mod analyze;
pub(crate) mod attempt;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod experiment;
pub(crate) mod export;
#[cfg(feature = "full")]
pub(crate) mod fleet;
#[cfg(feature = "full")]
pub(crate) mod import;
#[cfg(feature = "full")]
pub(crate) mod lab;
pub(crate) mod man;
pub(crate) mod meters;
#[cfg(feature = "full")]
pub(crate) mod model;
pub(crate) mod new;
pub(crate) mod note;
pub(crate) mod probe;
#[cfg(feature = "full")]
pub(crate) mod protos;
#[cfg(feature = "full")]
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(feature = "quick")]
pub(crate) mod serve;
pub(crate) mod show;
#[cfg(feature = "quick")]
pub(crate) mod ui;
pub(crate) mod worker;

#[cfg(not(feature = "full"))]
pub(crate) use absent::{fleet, import, lab, model, protos, reproduce};
#[cfg(not(feature = "quick"))]
pub(crate) use absent::{serve, ui};
