//! The work of browsers around an HTTP exchange: they follow redirects and decode contents.
//!
//! `reference` resolves the `Location` of a redirect (RFC 3986 §5), `redirect` says what is requested there (RFC 9110
//! §15.4) and rewrites the request's bytes, [`Follows`] keeps who is on the way through redirects: all others cost
//! nothing. [`Branches`] keeps who sends requests at the same time. [`content`] decodes what servers compressed, [`url`] reads the URLs that variables hold.

mod branches;
pub mod content;
mod follows;
#[doc(hidden)]
pub mod fuzzing;
mod redirect;
mod reference;
pub mod url;

pub use branches::Branches;
pub use follows::{FirstRequest, Follows};
pub use redirect::{Hop, is_redirect, target_and_host};
pub use reference::{Address, Unfollowable, resolve};
