//! Pure statistics: random numbers, distributions, histograms, intervals.
#![deny(missing_docs)]

pub mod anderson;
pub mod clique;
pub mod dist;
pub mod ensemble;
pub mod hist;
pub mod interval;
pub mod ks;
pub mod multiple;
pub mod permute;
pub mod quantile;
pub mod rank;
pub mod rng;
pub mod sample;
mod special;
pub mod student;
