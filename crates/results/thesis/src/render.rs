//! Imported results and reproduced tables as text.

pub(crate) mod results;
pub(crate) mod tables;
