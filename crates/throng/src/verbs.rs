//! The verbs, one file each.

pub(crate) mod analyze;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod experiment;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod meters;
pub(crate) mod model;
pub(crate) mod probe;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
#[cfg(feature = "web")]
pub(crate) mod ui;
#[cfg(not(feature = "web"))]
#[path = "verbs/no_ui.rs"]
pub(crate) mod ui;
pub(crate) mod worker;
