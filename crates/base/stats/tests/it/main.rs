//! The crate beside other people's: what SciPy, statsmodels and NetworkX say of the same samples.
//! `checks/golden/compare.py` wrote the values.

mod cliques;
mod curves;
mod exact;
mod extremes;
mod fit;
mod golden;
mod ks;
mod modes;
mod multiple;
mod percentiles;
mod quantiles;
mod ranks;
mod series;
