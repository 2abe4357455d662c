//! Pure statistics: random numbers, distributions, histograms, intervals.

pub mod dist;
pub mod hist;
pub mod rng;
