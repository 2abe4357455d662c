//! `throng duet OLD NEW`: two targets in pairs of runs, until it is decided which is slower.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use compare::duet::{DuetResult, DuetSettings, Interleave};
use controller::CompiledPlan;
use controller::duet::{
    BlockRole, CompileError, DUET_FILE, DuetError, DuetProgress, DuetRequest, DuetState,
    DuetTarget, analyze_duet, conduct_duet,
};
use controller::experiment::Lock;
use plan::Plan;
use record::RecordError;
use report::Page;
use scenario::Severity;
use workers::hex_digest;

use crate::args::{DuetArgs, InterleaveArg, Until};
use crate::exit::{Exit, Failure, print_text};
use crate::full::Leniency;
use crate::page;
use crate::source::{self, CompiledScenario, Text};
use crate::terminal::{self, View};
use crate::verbs::compare::{ResultTexts, accepted, write};
use crate::verbs::experiment::{locked, refused};
use crate::verbs::run::series_settings;

/// Directory in which the directories of duets are created.
const DUETS: &str = "duets";
/// The result, in the duet's directory.
const RESULT_FILE: &str = "result.json";
const UNDO_CHANGE: &str = "begin another duet, or undo the change";

pub(crate) fn duet(args: &DuetArgs) -> Result<Exit, Failure> {
    if let Some(directory) = &args.analyze {
        let state = known(directory)?;
        let result = analyze_duet(&state, directory).map_err(failure)?;
        return conclude(args, &result, directory);
    }
    let begun = args.resume.as_deref().map(known).transpose()?;
    let targets = match &begun {
        Some(state) => [state.old.clone(), state.new.clone()],
        None => targets(args)?,
    };
    let settings = begun.as_ref().map_or_else(|| settings(args), DuetState::settings);
    let opened = OpenedDuet::open(targets, args, &settings)?;
    let directory = match &args.resume {
        Some(directory) => directory.clone(),
        None => directory(args, &opened)?,
    };
    let _lock = Lock::take(&directory).map_err(locked)?;
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))?;
    let (until_decided, pairs_max) = match args.until {
        Until::Decided => (true, u64::MAX),
        Until::Pairs(pairs) => (false, pairs),
    };
    let request = DuetRequest {
        directory: &directory,
        series: series_settings(&program, args.force, args.durable.durability())?,
        // They come first: a duet that has begun has those that it needs.
        self_pairs: if begun.is_some() { 0 } else { args.self_pairs },
        until_decided,
        pairs_max,
        budget: args.budget,
        pause: args.pause,
    };
    let mut state = match begun {
        Some(state) if state.fits(opened.sources().each_ref().map(String::as_str)) => state,
        Some(_) => return Err(changed(&directory)),
        None => {
            let version = env!("CARGO_PKG_VERSION");
            let sources = opened.sources();
            let sources = sources.each_ref().map(String::as_str);
            DuetState::new(opened.targets.clone(), sources, args.seed, &settings, version)
        }
    };
    let mut watcher =
        Watcher { quiet: args.result.quiet || args.result.json, view: View::new(true), pairs: 0 };
    let result = conduct_duet(
        &request,
        &mut state,
        &|target, overrides| opened.compile(target, overrides),
        &mut |progress| watcher.report(&progress),
    );
    let result = result.map_err(failure)?;
    conclude(args, &result, &directory)
}

/// The scenarios of a duet, checked before anything runs.
struct OpenedDuet {
    targets: [DuetTarget; 2],
    texts: [Text; 2],
    /// Their files and what else they are compiled from, in words, with digests.
    inputs: [Vec<(String, String)>; 2],
    /// The old scenario's name.
    name: String,
}

impl OpenedDuet {
    fn open(
        targets: [DuetTarget; 2],
        args: &DuetArgs,
        settings: &DuetSettings,
    ) -> Result<OpenedDuet, Failure> {
        let read = |target: &DuetTarget| source::named_scenario(&target.file, Leniency::Strict);
        let texts = [read(&targets[0])?, read(&targets[1])?];
        let [old, new] = [compile(&texts[0], &targets[0])?, compile(&texts[1], &targets[1])?];
        let mut inputs = [vec![file_input(&targets[0])?], vec![file_input(&targets[1])?]];
        inputs[0].extend(old.inputs.digests());
        inputs[1].extend(new.inputs.digests());
        let plans = [old.plan, new.plan];
        check_common(&plans)?;
        check_time(args, settings.interleave, &plans)?;
        Ok(OpenedDuet { name: plans[0].name.clone(), targets, texts, inputs })
    }

    /// Each scenario as the record knows it: all that it is compiled from, with digests.
    fn sources(&self) -> [String; 2] {
        self.inputs.each_ref().map(|inputs| {
            let lines: Vec<String> =
                inputs.iter().map(|(what, digest)| format!("{what}: {digest}")).collect();
            lines.join("\n")
        })
    }

    /// A plan of a target, whose scenario was compiled before: from what it was compiled from then.
    fn compile(
        &self,
        target: &DuetTarget,
        overrides: &[(String, String)],
    ) -> Result<CompiledPlan, CompileError> {
        let place = usize::from(*target != self.targets[0]);
        let text = &self.texts[place];
        let mut now = vec![
            file_input(target)
                .map_err(|_| CompileError::Changed { what: file_in_words(target) })?,
        ];
        let (compiled, diagnostics) = source::try_compile(text, overrides);
        let compiled = compiled.ok_or_else(|| {
            let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error);
            let messages: Vec<&str> = errors.map(|one| one.message.as_str()).collect();
            let why = format!("the scenario no longer compiles: {}", messages.join("; "));
            CompileError::Failed { why }
        })?;
        // Blocks that run at once read all of it themselves.
        now.extend(compiled.inputs.digests());
        if let Some(what) = changed_input(&self.inputs[place], &now) {
            return Err(CompileError::Changed { what });
        }
        Ok(compiled.into_plan(text, overrides.to_vec()))
    }
}

fn file_in_words(target: &DuetTarget) -> String {
    format!("the file {:?}", target.file)
}

/// The file of a target's scenario in words, with the digest of what it holds now.
fn file_input(target: &DuetTarget) -> Result<(String, String), Failure> {
    let bytes = source::named_bytes(&target.file)?;
    Ok((file_in_words(target), hex_digest(&bytes)))
}

/// The first input that is not what it was.
fn changed_input(then: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let changed = now.iter().find(|input| !then.contains(input));
    changed.map(|(what, _)| what.clone())
}

/// The old target and the new one, by files or by `--target`.
fn targets(args: &DuetArgs) -> Result<[DuetTarget; 2], Failure> {
    let usage = |message: &str, hint: &str| Failure::hinted(Exit::Usage, message.to_owned(), hint);
    let target = |file: &String, address: Option<&String>| {
        let mut overrides = args.sets.sets.clone();
        overrides.extend(address.map(|address| ("target".to_owned(), address.clone())));
        DuetTarget { file: file.clone(), overrides }
    };
    if args.sets.sets.iter().any(|(key, _)| key == "seed") {
        return Err(usage("each pair has a seed of its own", "use --seed for the first one"));
    }
    match (&args.files[..], &args.targets[..]) {
        ([old, new], []) => Ok([target(old, None), target(new, None)]),
        ([file], [old, new]) => Ok([target(file, Some(old)), target(file, Some(new))]),
        ([_], _) => Err(usage(
            "one file has one target: there is nothing to compare",
            "give a second file, or --target twice: the old target, then the new one",
        )),
        _ => Err(usage(
            "two files have their own targets",
            "leave out --target, or give one file and --target twice",
        )),
    }
}

/// Compiles a scenario, prints its diagnostics, and refuses secrets in what is recorded.
fn compile(text: &Text, target: &DuetTarget) -> Result<CompiledScenario, Failure> {
    let compiled = source::compile(text, &target.overrides)?;
    source::no_secrets(&compiled.plan, &target.overrides, target.overrides.len())?;
    Ok(compiled)
}

/// There must be something that both measure.
fn check_common(plans: &[Plan; 2]) -> Result<(), Failure> {
    let [old, new] = plans.each_ref().map(|plan| plan.recorded().measures);
    let is_common = old.iter().any(|one| new.iter().any(|other| other.name == one.name));
    match is_common {
        true => Ok(()),
        false => Err(Failure::hinted(
            Exit::Data,
            "the two scenarios have no step in common".to_owned(),
            "steps are paired by their names",
        )),
    }
}

/// At least a pair must fit into the budget.
fn check_time(args: &DuetArgs, interleave: Interleave, plans: &[Plan; 2]) -> Result<(), Failure> {
    let each: u64 = plans.iter().map(Plan::end_ns).sum();
    let pair_ns = match interleave {
        Interleave::Abba => 2 * each,
        Interleave::Ab => each,
        Interleave::Simultaneous => each / 2,
    };
    if u128::from(pair_ns) <= args.budget.as_nanos() {
        return Ok(());
    }
    let budget_ns = u64::try_from(args.budget.as_nanos()).unwrap_or(u64::MAX);
    Err(Failure::hinted(
        Exit::Data,
        format!(
            "a pair takes {}, and the budget is {}",
            units::span(pair_ns),
            units::span(budget_ns)
        ),
        "make the scenario's phases shorter with --set, or raise --budget: ten pairs decide little, \
         thirty most",
    ))
}

fn settings(args: &DuetArgs) -> DuetSettings {
    let how = &args.how;
    DuetSettings {
        difference: how.difference,
        interleave: match args.interleave {
            InterleaveArg::Simultaneous => Interleave::Simultaneous,
            InterleaveArg::Ab => Interleave::Ab,
            InterleaveArg::Abba => Interleave::Abba,
        },
        how: how.times.options(&how.level),
    }
}

/// The duet's directory, which is created and must hold no other duet.
fn directory(args: &DuetArgs, opened: &OpenedDuet) -> Result<PathBuf, Failure> {
    let is_taken = |directory: &PathBuf| directory.join(DUET_FILE).exists();
    let directory = match &args.dir {
        Some(directory) if is_taken(directory) => {
            return Err(Failure::hinted(
                Exit::CannotCreate,
                format!("{} holds a duet already", directory.display()),
                "give another directory, or --analyze it",
            ));
        }
        Some(directory) => directory.clone(),
        None => {
            let name = record::file_name(&opened.name);
            let numbered = |number: u64| Path::new(DUETS).join(format!("{name}-{number}"));
            (1..).map(numbered).find(|one| !one.exists()).unwrap_or_else(|| numbered(0))
        }
    };
    std::fs::create_dir_all(&directory).map_err(|source| {
        let error = RecordError::Io { action: "create", path: directory.clone(), source };
        Failure::new(Exit::CannotCreate, error)
    })?;
    Ok(directory)
}

/// The duet in a directory, which must be there.
fn known(directory: &Path) -> Result<DuetState, Failure> {
    DuetState::read(directory).map_err(refused)?.ok_or_else(|| {
        Failure::hinted(
            Exit::NoInput,
            format!("{} holds no {DUET_FILE}", directory.display()),
            "give the directory of an existing duet",
        )
    })
}

/// The page of the duet in a directory.
#[cfg(feature = "quick")]
pub(crate) fn page_of(directory: &Path) -> Result<Page, Failure> {
    let state = known(directory)?;
    let result = analyze_duet(&state, directory).map_err(failure)?;
    Ok(Page::duet(&result, page::VERSION))
}

/// Writes the result beside the runs and prints it.
fn conclude(args: &DuetArgs, result: &DuetResult, directory: &Path) -> Result<Exit, Failure> {
    let json = report::json(result);
    write(&directory.join(RESULT_FILE), &json)?;
    let html = || Page::duet(result, page::VERSION);
    let junit = || report::duet_junit(result);
    let markdown = || report::duet_markdown(result);
    ResultTexts { junit: &junit, markdown: &markdown, html: &html }.write(&args.result)?;
    if args.result.json {
        print_text(&json)?;
    } else if !args.result.quiet {
        let shown = directory.display().to_string();
        print_text(&report::duet(result, &shown, terminal::columns(), terminal::style()))?;
    }
    Ok(accepted(result.verdict.acceptance()))
}

/// States what goes on, on standard error.
struct Watcher {
    quiet: bool,
    view: View,
    /// Pairs that ended.
    pairs: u64,
}

impl Watcher {
    fn report(&mut self, progress: &DuetProgress<'_>) {
        match progress {
            DuetProgress::Block { pair, role } => {
                self.view.end();
                let what = match role {
                    BlockRole::Old => "old target",
                    BlockRole::New => "new target",
                    BlockRole::SelfFirst | BlockRole::SelfSecond => "old target against itself",
                    BlockRole::Alone => "old target alone",
                };
                self.print_error(&format!("pair {pair}: {what}"));
                self.view = View::new(self.quiet || !std::io::stderr().is_terminal());
            }
            DuetProgress::Tick(tick) => self.view.tick(tick),
            DuetProgress::Pair(result) => {
                self.view.end();
                self.view = View::new(true);
                self.pairs += 1;
                self.print_error(&format!("  after {}: {}", self.pairs, result.sentence));
            }
            DuetProgress::Disturbed(disturbed) => {
                self.view.end();
                let then = if disturbed.repeated { "it is repeated" } else { "it counts" };
                self.print_error(&format!("  disturbed: {}; {then}", disturbed.why));
            }
            DuetProgress::Failed { why } => {
                self.view.end();
                self.view = View::new(true);
                self.print_error(&format!("  failed: {why}"));
            }
        }
    }

    fn print_error(&self, line: &str) {
        if !self.quiet {
            // Who closed standard error does not want to know.
            let _ = writeln!(std::io::stderr(), "{}", report::visible(line));
        }
    }
}

fn failure(error: DuetError) -> Failure {
    match error {
        DuetError::Record(error) => refused(error),
        DuetError::Compare(error) => Failure::new(Exit::NoInput, error),
        failing @ DuetError::Failing { .. } => {
            Failure::hinted(Exit::Unavailable, failing.to_string(), "`throng run` shows more of it")
        }
        changed @ DuetError::Changed { .. } => {
            Failure::hinted(Exit::Data, changed.to_string(), UNDO_CHANGE)
        }
        one_core @ DuetError::OneCore => Failure::new(Exit::System, one_core),
    }
}

fn changed(directory: &Path) -> Failure {
    Failure::hinted(
        Exit::Data,
        format!(
            "a scenario or what it reads has changed since the duet in {} was begun",
            directory.display()
        ),
        UNDO_CHANGE,
    )
}
