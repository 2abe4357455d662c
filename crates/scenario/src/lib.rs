//! Everything a person writes, checked with diagnostics and compiled to a plan.

pub mod expr;
pub mod plan;

pub use plan::Plan;
