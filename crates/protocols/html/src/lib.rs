//! Finds elements of HTML pages by CSS selectors.
//!
//! A page is parsed as browsers do it (HTML standard §13.2, by html5ever), within limits on its size, its depth and the
//! work that it takes: whatever a server sends, it is read or refused.

mod find;
mod outline;
mod page;
mod selector;
mod syntax;

pub use outline::{Outlined, What};
pub use page::{Page, TooMuch, page_bytes};
pub use selector::Selector;
pub use syntax::BadSelector;
