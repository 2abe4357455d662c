//! Finds elements of HTML pages by CSS selectors.

mod selector;
mod syntax;

pub use selector::Selector;
pub use syntax::BadSelector;
