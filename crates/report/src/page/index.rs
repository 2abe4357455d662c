//! The document of the results index.

use judge::index::Listing;
use serde::Serialize;

use super::Page;

#[derive(Serialize)]
struct IndexDocument<'a> {
    root: &'a str,
    #[serde(flatten)]
    listing: &'a Listing,
}

impl Page {
    /// The page that lists the results below `root`, a path for people.
    pub fn index(listing: &Listing, root: &str, throng: &str) -> Page {
        let document = IndexDocument { root, listing };
        let title = format!("{root}: results · Throng");
        Page::new(title, Vec::new(), "index", throng, document)
    }
}
