//! `throng reproduce thesis DIR`: published tables, computed again from published results.

use std::path::Path;

use thesis::{DetectedRuns, Results};

use super::import::{NO_RUN, failure, note_skipped, settings};
use crate::args::full::{Publication, ReproduceArgs};
use crate::exit::{Exit, Failure, print_text};
use crate::terminal;

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<Exit, Failure> {
    let Publication::Thesis { dir } = &args.publication;
    let results = results(dir)?;
    let text = thesis::render_tables(&thesis::reproduce(&results), terminal::style());
    print_text(&text)
}

/// The results below a directory, of those systems that the thesis prints.
fn results(dir: &Path) -> Result<Vec<Results>, Failure> {
    let mut found = Vec::new();
    let DetectedRuns { runs, skipped } = thesis::detect(dir).map_err(failure)?;
    skipped.iter().for_each(|path| note_skipped(path, NO_RUN));
    for path in runs {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.as_deref().and_then(thesis::start).is_none() {
            note_skipped(&path, "a system of the thesis");
            continue;
        }
        let imported = thesis::read(&path, &settings(&path, None)).map_err(failure)?;
        found.push(Results {
            name: imported.info.name,
            import: imported.import,
            probes: imported.probes,
        });
    }
    if found.is_empty() {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{} contains no results of the thesis", dir.display()),
            &format!("the directories of the thesis are named {}", thesis::systems().join(", ")),
        ));
    }
    Ok(found)
}
