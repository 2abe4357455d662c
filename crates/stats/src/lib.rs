//! Pure statistics: random numbers, distributions, histograms, intervals.
#![deny(missing_docs)]

pub mod dist;
pub mod hist;
pub mod interval;
pub mod polygon;
pub mod pooled;
pub mod rng;
mod special;
