//! The directory of a model: a new one, or one whose model is replaced.
//!
//! The old model stays until the new one is complete. Then model.json is removed first and written last, so that no
//! reader finds it beside files of another model.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::Model;
use record::whole;

use super::against::AGAINST;
use super::check::{CHECK, LOG};
use super::{MODEL, REPORT, SCENARIO};
use crate::exit::{Exit, Failure};
use crate::page;

/// How scratch begins, before the number of its process.
const SORTING: &str = ".sorting-";
/// Files that a model and its checks leave, besides arrivals and targets.
const OWN: [&str; 7] = [MODEL, SCENARIO, REPORT, page::FILE, CHECK, LOG, AGAINST];
/// How scenarios begin that somebody changed, and that are kept.
const KEPT: &str = "scenario.kept-";

/// Scratch directory of a process that sorts.
pub(super) fn scratch(out: &Path) -> PathBuf {
    out.join(format!("{SORTING}{}", std::process::id()))
}

/// Creates the directory, or checks that it is empty or has a model to replace. Removes the scratch of killed
/// processes.
pub(super) fn prepare(out: &Path) -> Result<(), Failure> {
    let cannot = |error: io::Error| {
        Failure::hinted(
            Exit::CannotCreate,
            format!("cannot create {}: {error}", out.display()),
            "give another directory with -o",
        )
    };
    std::fs::create_dir_all(out).map_err(cannot)?;
    let mut names = names(out).map_err(cannot)?;
    for name in names.iter().filter(|name| is_stale_scratch(name)) {
        std::fs::remove_dir_all(out.join(name)).map_err(cannot)?;
    }
    names.retain(|name| !name.starts_with(SORTING) && !is_partial(name));
    let is_model = names.iter().any(|name| name == MODEL);
    if names.is_empty() || is_model || is_interrupted(out, &names) {
        return Ok(());
    }
    Err(Failure::hinted(
        Exit::CannotCreate,
        format!("{} has files that are not of a model", out.display()),
        "give a new directory, or one whose model should be replaced",
    ))
}

/// Removes the files of the old model. Other files stay, and so does a scenario that was edited.
pub(super) fn remove_old_model(out: &Path) -> Result<(), Failure> {
    let cannot = |error: io::Error| {
        let text = format!("cannot replace the model in {}: {error}", out.display());
        Failure::hinted(Exit::Io, text, "give a new directory with -o")
    };
    keep_scenario(out).map_err(cannot)?;
    let mut names = names(out).map_err(cannot)?;
    // The new scenario takes the old one's place in one step.
    names.retain(|name| name != SCENARIO && (is_own(name) || is_partial(name)));
    names.sort_by_key(|name| name != MODEL);
    for name in names {
        std::fs::remove_file(out.join(name)).map_err(cannot)?;
    }
    Ok(())
}

fn names(out: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(out)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Rejects a Tsung file that would replace an input, or a file of the model.
pub(super) fn check_tsung_path(tsung: &Path, logs: &[PathBuf], out: &Path) -> Result<(), Failure> {
    let rejected = |what: String| {
        let text = format!("--tsung {} {what}", tsung.display());
        Failure::hinted(Exit::Usage, text, "give the file another name")
    };
    // A file is written beside its place first, under this name.
    let mut half = tsung.as_os_str().to_owned();
    half.push(".tmp");
    for log in logs {
        if is_same(tsung, log) || is_same(Path::new(&half), log) {
            return Err(rejected(format!("is {}, which is an input", log.display())));
        }
        if log.is_dir() && folder(tsung).is_some_and(|folder| is_within(&folder, log)) {
            return Err(rejected(format!("is in {}, which is an input", log.display())));
        }
    }
    let name = tsung.file_name().map(|name| name.to_string_lossy());
    let is_ours = name.is_some_and(|name| is_own(&name) || is_partial(&name));
    let here = folder(tsung).zip(folder(&out.join(MODEL)));
    if is_ours && here.is_some_and(|(folder, out)| folder == out) {
        return Err(rejected("is the name of a file of the model".to_owned()));
    }
    // A link to such a file is that file.
    let names = names(out).unwrap_or_default();
    let mut own = names.iter().filter(|name| is_own(name));
    match own.find(|name| is_same(tsung, &out.join(name))) {
        Some(name) => Err(rejected(format!("is {name} of the model"))),
        None => Ok(()),
    }
}

/// Whether both names are of one file that there is.
fn is_same(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino()));
    matches!((file(a), file(b)), (Ok(a), Ok(b)) if a == b)
}

/// The directory that a file is in or would be in, by its one name as far as it has one already.
fn folder(path: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(path).ok()?.parent()?.to_owned();
    Some(std::fs::canonicalize(&folder).unwrap_or(folder))
}

fn is_within(folder: &Path, run: &Path) -> bool {
    std::fs::canonicalize(run).is_ok_and(|run| folder.starts_with(run))
}

fn is_own(name: &str) -> bool {
    let is = |begin: &str, end: &str| name.starts_with(begin) && name.ends_with(end);
    let is_named = is("arrivals-", ".txt") || is("targets-", ".csv");
    is_named || name == "arrivals.txt" || OWN.contains(&name)
}

/// A file of ours that was not complete.
fn is_partial(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(is_own)
}

/// Scratch of a process that has ended.
fn is_stale_scratch(name: &str) -> bool {
    let process = name.strip_prefix(SORTING);
    let number = process.and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| machine::procfs::is_running(number) == Some(false))
}

/// Only files of a model whose writing was interrupted.
fn is_interrupted(out: &Path, names: &[String]) -> bool {
    let known = |name: &String| is_own(name) || name.starts_with(KEPT);
    let scenario = whole::read(&out.join(SCENARIO)).ok().flatten();
    names.iter().all(known) && scenario.is_some_and(|text| text.starts_with(model::SCENARIO_BEGINS))
}

/// Renames a scenario that differs from its model, and reports the new name.
fn keep_scenario(out: &Path) -> io::Result<()> {
    let path = out.join(SCENARIO);
    let text = match regular::read(&path, scenario::document::yaml::TEXT_BYTES_MAX as u64) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // No model has written it.
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => None,
        Err(error) => return Err(error),
    };
    let model = whole::read(&out.join(MODEL)).ok().flatten();
    let model = model.and_then(|text| Model::read(&text).ok());
    let is_its = |model: &Model| text.as_deref() == Some(model.scenario().as_bytes());
    if model.as_ref().is_some_and(is_its) {
        return Ok(());
    }
    let mut places = (1..).map(|number| out.join(format!("{KEPT}{number}.yaml")));
    let kept = places.find(|place| !place.exists()).expect("there are more numbers than files");
    std::fs::rename(&path, &kept)?;
    // Nobody may be listening; the file is there.
    let _ = writeln!(
        io::stderr(),
        "{} differs from its model, perhaps edited by hand: kept as {}",
        path.display(),
        kept.display()
    );
    Ok(())
}
