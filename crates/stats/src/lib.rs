//! Pure statistics: random numbers, distributions, histograms, intervals.
#![deny(missing_docs)]

pub mod dist;
pub mod hist;
pub mod interval;
pub mod mean;
pub mod reliability;
pub mod rng;
mod special;
pub mod steady;
pub mod trend;
pub mod usl;
