//! Results and samples that another tool measured, as run directories.

use std::io::Read;
use std::path::Path;

use record::samples::{
    Format, ReadOptions, SAMPLES_MAX, SampleImport, ToolResults, Unit, is_results, parse,
    read_results,
};
use record::{RecordError, Run};

use crate::args::full::{ResultsArgs, SamplesArgs, UnitArg};
use crate::exit::{Exit, Failure, print_text};
use crate::settings::RUNS;
use crate::source;
use crate::terminal;

/// Largest file, in bytes.
const BYTES_MAX: u64 = 1 << 30;
/// Bytes by which results of another tool are recognised.
const HEAD_BYTES: u64 = 64 << 10;
/// Runs of one import at most, as many as can be compared.
const RUNS_MAX: usize = compare::RUNS_MAX;
/// The name of runs unless one is given.
const NAME: &str = "samples";

/// Results that become a run.
struct ImportedFile {
    /// A word for it, part of the run's id.
    label: String,
    results: ToolResults,
}

/// True if these are regular files, all of which begin like results of another tool.
pub(super) fn are_results(files: &[String]) -> bool {
    let head = |file: &String| {
        let mut head = Vec::new();
        let opened = regular::open(Path::new(file)).ok()?;
        opened.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
        Some(head)
    };
    files.iter().all(|file| file != "-" && head(file).is_some_and(|head| is_results(&head)))
}

/// Each file and column as a run directory.
pub(super) fn import(
    files: &[String],
    args: &SamplesArgs,
    results: &ResultsArgs,
) -> Result<Exit, Failure> {
    check_columns(args)?;
    let count = files.len() * args.columns.len().max(1);
    if count > RUNS_MAX {
        return Err(Failure::hinted(
            Exit::Usage,
            format!("{count} files and columns are too many: {RUNS_MAX} runs can be compared"),
            "import fewer at a time",
        ));
    }
    if results.layout.is_some() {
        super::misplaced(&files[0], "a file of results or samples", Some("--as"))?;
    }
    if results.start.is_some() && count > 1 {
        return Err(Failure::hinted(
            Exit::Usage,
            format!("these are the samples of {count} runs, but --start applies to one"),
            "import them one at a time",
        ));
    }
    // All are read before the first is written, so that a bad line leaves nothing behind.
    let mut read = Vec::new();
    for file in files {
        read.push((file, read_file(file, args)?));
    }
    for (file, all) in &read {
        for found in all {
            let imported = SampleImport {
                results: &found.results,
                source: file,
                name: args.name.as_deref().unwrap_or(NAME),
                label: &found.label,
                started_unix_ns: results.start,
                throng: env!("CARGO_PKG_VERSION"),
            };
            let text = write(&imported, results)?;
            if !results.quiet {
                print_text(&text)?;
            }
        }
    }
    Ok(Exit::Passed)
}

/// Refuses a column that is given twice.
fn check_columns(args: &SamplesArgs) -> Result<(), Failure> {
    let mut columns = args.columns.clone();
    columns.sort();
    match columns.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(twice) => Err(Failure::hinted(
            Exit::Usage,
            format!("column {:?} is given twice", twice[0]),
            "give each column once",
        )),
    }
}

/// The results of a file in a form that is known, unless columns are chosen; else its numbers, one set for each column.
fn read_file(file: &str, args: &SamplesArgs) -> Result<Vec<ImportedFile>, Failure> {
    let remedy = format!("divide it; a file has {SAMPLES_MAX} operations at most");
    let bytes = source::read_bytes(file, BYTES_MAX, &remedy)?;
    let failure =
        |text: String| Failure::new(Exit::Data, std::io::Error::other(format!("{file}, {text}")));
    if args.columns.is_empty() && is_results(&bytes) {
        let options = ReadOptions { measure: args.measure.clone(), unit: args.unit.map(unit) };
        let results = read_results(&bytes, &options).map_err(|error| failure(error.to_string()))?;
        return Ok(vec![ImportedFile { label: label(file, None), results }]);
    }
    let samples_of = format(args)?;
    let text = text_of(file, bytes)?;
    let all = parse(&text, &samples_of.format).map_err(|error| failure(error.to_string()))?;
    let found = all.iter().map(|samples| {
        let results = samples.results(samples_of.measure);
        let results = results.map_err(|error| failure(error.to_string()))?;
        Ok(ImportedFile { label: label(file, samples.column.as_deref()), results })
    });
    found.collect()
}

/// The meaning of numbers without a form, by the command line.
struct SamplesOf<'a> {
    measure: &'a str,
    format: Format,
}

fn format(args: &SamplesArgs) -> Result<SamplesOf<'_>, Failure> {
    let missing = |option: &str, hint: &str| {
        let message = format!("{option} is missing: it says what the samples are");
        Failure::hinted(Exit::Usage, message, hint)
    };
    let Some(measure) = &args.measure else {
        let hint = "give the name of the operation that was timed, such as --measure request";
        return Err(missing("--measure", hint));
    };
    let Some(of) = args.unit else {
        return Err(missing("--unit", "give --unit s, ms, us or ns"));
    };
    let start = args.start_column.clone();
    let format = Format {
        columns: args.columns.clone(),
        unit: unit(of),
        start: start.zip(args.start_unit.map(unit)),
        success: args.success_column.clone(),
    };
    Ok(SamplesOf { measure, format })
}

fn unit(arg: UnitArg) -> Unit {
    match arg {
        UnitArg::Ns => Unit::Ns,
        UnitArg::Us => Unit::Us,
        UnitArg::Ms => Unit::Ms,
        UnitArg::S => Unit::S,
    }
}

fn text_of(file: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n');
        let message = format!("{file}, line {}: not UTF-8", line.count() + 1);
        Failure::hinted(Exit::Data, message, "save the file as UTF-8 text")
    })
}

/// A word for results: the file's name without its extension, and the column.
fn label(file: &str, column: Option<&str>) -> String {
    let stem = match file {
        "-" => None,
        file => Path::new(file).file_stem(),
    };
    let stem = stem.map_or("input".into(), |stem| stem.to_string_lossy());
    match column {
        Some(column) => format!("{stem}-{column}"),
        None => stem.into_owned(),
    }
}

/// Makes the run directory, and returns the text on it.
fn write(imported: &SampleImport<'_>, results: &ResultsArgs) -> Result<String, Failure> {
    let io = |error: RecordError| Failure::new(Exit::Io, error);
    let root = results.runs.as_deref().unwrap_or(Path::new(RUNS));
    let dir = imported.write(root).map_err(super::results::not_written)?;
    let run = Run::open(dir.path()).map_err(io)?;
    let summary = judge::judge_again(&run, false).map_err(|error| Failure::new(Exit::Io, error))?;
    dir.write_summary(&summary).map_err(io)?;
    let directory = dir.path().display().to_string();
    let text = report::VerdictText {
        summary: &summary,
        info: run.info(),
        directory: &directory,
        course: None,
        full: true,
        columns: terminal::columns(),
    };
    Ok(report::verdict(&text, terminal::style()) + "\n")
}
