//! The document of the results index.

use compare::index::{Listing, Trend};
use serde::Serialize;

use super::{Content, Page};

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct IndexDocument<'a> {
    root: &'a str,
    #[serde(flatten)]
    listing: &'a Listing,
}

impl Content for IndexDocument<'_> {
    const KIND: &'static str = "index";
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct TrendDocument<'a> {
    #[serde(flatten)]
    trend: &'a Trend,
}

impl Content for TrendDocument<'_> {
    const KIND: &'static str = "trend";
}

impl Page {
    /// The figures of one scenario's runs over time.
    pub fn trend(trend: &Trend, throng: &str) -> Page {
        let title = format!("{}: trend · Throng", trend.name);
        Page::new(title, Vec::new(), throng, &TrendDocument { trend })
    }

    /// The page that lists the results below `root`, a path for people.
    pub fn index(listing: &Listing, root: &str, throng: &str) -> Page {
        let document = IndexDocument { root, listing };
        let title = format!("{root}: results · Throng");
        Page::new(title, Vec::new(), throng, &document)
    }
}
