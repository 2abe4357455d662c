//! The document of the results index.

use compare::index::{Listing, Trend};
use serde::Serialize;

use super::Page;

#[derive(Serialize)]
struct IndexDocument<'a> {
    root: &'a str,
    #[serde(flatten)]
    listing: &'a Listing,
}

impl Page {
    /// The figures of one scenario's runs over time.
    pub fn trend(trend: &Trend, throng: &str) -> Page {
        let title = format!("{}: trend · Throng", trend.name);
        Page::new(title, Vec::new(), "trend", throng, trend)
    }

    /// The page that lists the results below `root`, a path for people.
    pub fn index(listing: &Listing, root: &str, throng: &str) -> Page {
        let document = IndexDocument { root, listing };
        let title = format!("{root}: results · Throng");
        Page::new(title, Vec::new(), "index", throng, document)
    }
}
