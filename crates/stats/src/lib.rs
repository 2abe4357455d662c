//! Pure statistics: random numbers, distributions, histograms, intervals, comparisons of samples.
#![deny(missing_docs)]

pub mod anderson;
pub mod clique;
pub mod counts;
pub mod dist;
pub mod ecdf;
pub mod ensemble;
pub mod exact;
pub mod factorial;
mod fft;
pub mod filter;
pub mod fit;
pub mod hist;
pub mod hurst;
pub mod interval;
pub mod ks;
pub mod mean;
pub mod means;
pub mod modes;
pub mod multiple;
pub mod permute;
pub mod polygon;
pub mod pooled;
pub mod power;
pub mod quantile;
pub mod rank;
pub mod regression;
pub mod reliability;
pub mod rng;
pub mod sample;
pub mod serial;
mod special;
pub mod spline;
pub mod steady;
pub mod student;
pub mod trend;
pub mod usl;
