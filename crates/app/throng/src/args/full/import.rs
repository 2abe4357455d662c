//! Arguments of `throng import` and `throng reproduce`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// A file that becomes a scenario (a recording of a browser, commands of curl, a collection of Postman, an export of
    /// Insomnia, requests of Bruno, a description in OpenAPI, a test plan of JMeter, a Tsung file); a directory of
    /// published results; results of JMeter, k6, Gatling, Locust, vegeta, hey, oha, h2load, fortio, ghz, Tsung, criterion,
    /// Google benchmark, pytest-benchmark or HdrHistogram; or, with --measure and --unit, files of numbers that another
    /// tool measured. - for standard input
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(crate) what: Vec<String>,
    #[command(flatten)]
    pub(crate) samples: SamplesArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    #[command(flatten)]
    pub(crate) results: ResultsArgs,
}

impl ImportArgs {
    /// True if errors only are to be printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.results.quiet
    }
}

/// What to do with a page's static resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Statics {
    /// Keep them as ordinary steps
    Keep,
    /// Group consecutive ones into one transaction
    Group,
    /// Skip them
    Skip,
}

/// Which operations of a description are the steps of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionsArg {
    /// Those of a tag
    Tag,
    /// Those of a path
    Path,
    /// All
    One,
}

/// Options for a file that becomes a scenario.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a file that becomes a scenario")]
pub(crate) struct FileArgs {
    /// Write the scenario to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tsung: crate::args::TsungArgs,
    /// In a recording: what to do with images, styles, scripts and fonts [default: group]
    #[arg(long = "static", value_name = "HOW")]
    pub(crate) statics: Option<Statics>,
    /// In a recording: keep requests to hosts other than the first one
    #[arg(long)]
    pub(crate) third_parties: bool,
    /// In a recording: keep requests that the browser answered from its cache
    #[arg(long)]
    pub(crate) cached: bool,
    /// With a collection of Postman: the file of its environment; with an export of Insomnia: the name of one of its
    /// environments
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) environment: Option<String>,
    /// With a description of an API: one session for each tag or path, or one for all [default: tag]
    #[arg(long, value_name = "BY")]
    pub(crate) sessions: Option<SessionsArg>,
    /// With a description of an API: keep operations that may change something
    #[arg(long)]
    pub(crate) all_methods: bool,
}

impl FileArgs {
    /// The first option given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let FileArgs {
            output,
            tsung: crate::args::TsungArgs { lenient },
            statics,
            third_parties,
            cached,
            environment,
            sessions,
            all_methods,
        } = self;
        first_given(&[
            (output.is_some(), "--output"),
            (*lenient, "--lenient"),
            (statics.is_some(), "--static"),
            (*third_parties, "--third-parties"),
            (*cached, "--cached"),
            (environment.is_some(), "--environment"),
            (sessions.is_some(), "--sessions"),
            (*all_methods, "--all-methods"),
        ])
    }
}

/// Options for results or samples of another tool that become run directories, one for each file and column.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With results of another tool, or samples")]
pub(crate) struct SamplesArgs {
    /// Name of the measure that the samples are of; of results of another tool, one measure for all requests
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) measure: Option<String>,
    /// Unit of the samples, or of the histograms of an interval log [default of these: ns]
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<UnitArg>,
    /// Column of a CSV file that contains the samples, by its name in the first line; may be repeated.
    /// Without it, files have one number a line
    #[arg(long = "column", value_name = "NAME")]
    pub(crate) columns: Vec<String>,
    /// Column with the start of each operation, as a number since any moment. Without it, only the order
    /// of the samples is known
    #[arg(long, value_name = "NAME", requires_all = ["columns", "start_unit"])]
    pub(crate) start_column: Option<String>,
    /// Unit of --start-column
    #[arg(long, value_name = "UNIT", requires = "start_column")]
    pub(crate) start_unit: Option<UnitArg>,
    /// Column that says whether an operation succeeded: true or false, 1 or 0 [default: `success` beside JMeter's
    /// columns; of others each sample counts as succeeded]
    #[arg(long, value_name = "NAME", requires = "columns")]
    pub(crate) success_column: Option<String>,
    /// Name of the runs; runs of one name can be compared [default: samples]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,
}

impl SamplesArgs {
    /// The first option given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let SamplesArgs { measure, unit, columns, start_column, start_unit, success_column, name } =
            self;
        first_given(&[
            (measure.is_some(), "--measure"),
            (unit.is_some(), "--unit"),
            (!columns.is_empty(), "--column"),
            (start_column.is_some(), "--start-column"),
            (start_unit.is_some(), "--start-unit"),
            (success_column.is_some(), "--success-column"),
            (name.is_some(), "--name"),
        ])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitArg {
    Ns,
    Us,
    Ms,
    S,
}

/// A name that is shown in tables.
fn name(text: &str) -> Result<String, String> {
    const CHARS_MAX: usize = 100;
    match text.trim().is_empty()
        || text.chars().count() > CHARS_MAX
        || text.contains(char::is_control)
    {
        true => Err(format!("a name has 1 to {CHARS_MAX} printable characters")),
        false => Ok(text.to_owned()),
    }
}

/// Known layouts of published results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// Client reports and server CSVs, by role, region and machine
    Thesis,
}

/// Options for a directory of results that become run directories.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a directory, or with samples")]
pub(crate) struct ResultsArgs {
    /// Layout of the results in a directory [default: detected]
    #[arg(long = "as", value_name = "LAYOUT")]
    pub(crate) layout: Option<Layout>,
    /// Start of the run in UTC, such as 2015-07-31T15:36, if the results do not contain it
    #[arg(long, value_name = "TIME", value_parser = thesis::parse_time)]
    pub(crate) start: Option<u64>,
    /// Directory in which run directories are created [default: runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) runs: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl ResultsArgs {
    /// The first option given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let ResultsArgs { layout, start, runs, quiet } = self;
        first_given(&[
            (layout.is_some(), "--as"),
            (start.is_some(), "--start"),
            (runs.is_some(), "--runs"),
            (*quiet, "--quiet"),
        ])
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReproduceArgs {
    #[command(subcommand)]
    pub(crate) publication: Publication,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Publication {
    /// Scaling a geographically distributed WebSocket platform, chapter 8
    Thesis {
        /// Directory of the results, with baseline, proposed_1 and proposed_2
        dir: PathBuf,
    },
}

fn first_given(options: &[(bool, &'static str)]) -> Option<&'static str> {
    options.iter().find_map(|(given, name)| given.then_some(*name))
}
