//! Pure statistics: random numbers, distributions, histograms, intervals.
#![deny(missing_docs)]

pub mod dist;
pub mod hist;
pub mod interval;
pub mod permute;
pub mod rng;
mod special;
pub mod student;
