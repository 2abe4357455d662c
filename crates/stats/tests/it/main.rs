//! The crate beside other people's: what SciPy, statsmodels and NetworkX say of the same samples.
//! `scripts/golden/compare.py` asked them.

mod cliques;
mod golden;
mod ks;
mod multiple;
mod quantiles;
mod ranks;
