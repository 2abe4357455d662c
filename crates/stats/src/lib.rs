//! Pure statistics: random numbers, distributions, histograms, intervals.
#![deny(missing_docs)]

pub mod dist;
pub mod factorial;
pub mod hist;
pub mod interval;
pub mod regression;
pub mod rng;
mod special;
