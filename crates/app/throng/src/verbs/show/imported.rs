//! Published results that `throng import` made a run directory of.

use record::Import;
use record::schema::{RunInfo, Summary, Tally};

use crate::exit::Failure;
use crate::terminal;

pub(super) fn judge(info: &RunInfo, import: &Import, tally: &Tally) -> Result<Summary, Failure> {
    Ok(thesis::judge(info, import, tally))
}

/// The results as text.
pub(super) fn results(
    summary: &Summary,
    info: &RunInfo,
    import: &Import,
    directory: &str,
) -> Result<String, Failure> {
    let style = terminal::style();
    Ok(thesis::render_results(summary, info, import, directory, style))
}
