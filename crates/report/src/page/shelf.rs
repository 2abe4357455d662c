//! The document of a directory's results.

use judge::shelf::Listing;
use serde::Serialize;

use super::Page;

#[derive(Serialize)]
struct ShelfDocument<'a> {
    root: &'a str,
    #[serde(flatten)]
    listing: &'a Listing,
}

impl Page {
    /// The page that lists what stands in `root`, as it is called by people.
    pub fn shelf(listing: &Listing, root: &str, throng: &str) -> Page {
        let document = ShelfDocument { root, listing };
        let title = format!("{root}: results · Throng");
        Page::new(title, Vec::new(), "shelf", throng, document)
    }
}
