//! Pages as files, and the live page, which take what `web/` builds.

pub(crate) mod listener;
mod live;

use report::Page;

use crate::exit::Failure;

pub(crate) use live::LivePage;

/// An error in a program that makes no pages.
#[expect(clippy::unnecessary_wraps, reason = "as without pages")]
pub(crate) fn check() -> Result<(), Failure> {
    Ok(())
}

/// The file of a page.
#[expect(clippy::unnecessary_wraps, reason = "as without pages")]
pub(crate) fn html(page: &Page) -> Result<String, Failure> {
    Ok(page.html())
}
