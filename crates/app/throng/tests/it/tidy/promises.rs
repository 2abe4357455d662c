//! Every promise of docs/promises.md, and every limit of docs/limits.md, is held by something that there is.

use std::collections::{BTreeMap, BTreeSet};

use testkit::documents::assert_blocks;

use super::{PACKAGES, ROOT, files_below, none, read};

/// The names in backquotes in the second column of the document's tables.
fn tests(document: &str) -> Vec<String> {
    let rows = document.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(['|', ' ']).rsplit_once(" | "));
    let quoted = cells.flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    quoted.collect()
}

#[test]
fn promises_name_tests_that_exist() {
    let mut files = Vec::new();
    files_below(&ROOT.join("crates"), "rs", &mut files);
    let code: String = files.iter().map(|path| read(path)).collect();
    let makefile = read(&ROOT.join("Makefile"));
    let crates: Vec<&str> = PACKAGES.iter().map(|package| package.name.as_str()).collect();
    let documents =
        ["docs/promises.md", "docs/limits.md"].map(|name| tests(&read(&ROOT.join(name))));
    assert!(documents.iter().all(|named| named.len() > 10), "{documents:?}");
    let named = documents.into_iter().flatten();
    let is_there = |name: &String| match name.strip_prefix("make ") {
        Some(target) => makefile.contains(&format!("\n{target}:")),
        None => {
            code.contains(&format!("fn {name}("))
                || code.contains(&format!("mod {name};"))
                || crates.contains(&name.as_str())
        }
    };
    let missing: Vec<String> = named.filter(|name| !is_there(name)).collect();
    none("promises and limits without a test", "Name the test in the document.", &missing);
}

/// Executions of fuzzers, of one build or of all.
#[derive(Default)]
struct Fuzzed<'a> {
    days: BTreeSet<&'a str>,
    targets: BTreeSet<&'a str>,
    seconds: u64,
    executions: u64,
    failures: u64,
}

impl<'a> Fuzzed<'a> {
    fn add(&mut self, date: &'a str, target: &'a str, [seconds, executions, failures]: [u64; 3]) {
        self.days.insert(date);
        self.targets.insert(target);
        self.seconds += seconds;
        self.executions += executions;
        self.failures += failures;
    }

    fn row(&self, build: &str, by: &str) -> String {
        let cell = |day: Option<&&str>| day.map_or_else(String::new, |day| format!("{day} "));
        let Fuzzed { days, targets, seconds, executions, failures } = self;
        format!(
            "| {}| {}| {build} | {by}| {} | {:.1} | {} | {failures} |\n",
            cell(days.first()),
            cell(days.last()),
            targets.len(),
            *seconds as f64 / 3600.0,
            grouped(*executions),
        )
    }
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `UPDATE=1` writes the table.
#[test]
fn executions_of_fuzzers_are_those_that_were_counted() {
    let counted = read(&ROOT.join("fuzz/executions.csv"));
    let mut builds: BTreeMap<(&str, &str, &str), Fuzzed<'_>> = BTreeMap::new();
    let mut first_days: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut all = Fuzzed::default();
    for (number, line) in counted.lines().enumerate().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [date, build, by, target, ref counts @ ..] = cells[..] else {
            panic!("fuzz/executions.csv:{}: {line}", number + 1);
        };
        let counts: Vec<u64> = counts.iter().map(|count| count.parse().unwrap()).collect();
        let counts = <[u64; 3]>::try_from(counts).unwrap();
        let first_day = *first_days.entry((build, by)).or_insert(date);
        builds.entry((first_day, build, by)).or_default().add(date, target, counts);
        all.add(date, target, counts);
    }
    let mut table =
        "| first day | last day | build | inputs by | targets | hours | executions | failures |\n\
                     |---|---|---|---|--:|--:|--:|--:|\n"
            .to_owned();
    for ((_, build, by), fuzzed) in &builds {
        table += &fuzzed.row(&format!("`{build}`"), &format!("{by} "));
    }
    table += &all.row("all", "");
    assert_blocks("docs/promises.md", "generated", [("fuzzing", table)]);
}

#[test]
fn every_target_is_fuzzed_by_changes_as_well() {
    let mut files = Vec::new();
    files_below(&ROOT.join("fuzz/fuzz_targets"), "rs", &mut files);
    let changes = read(&ROOT.join("fuzz/changes/main.rs"));
    let names = files.iter().filter_map(|file| file.file_stem()?.to_str());
    let missing = names.filter(|name| !changes.contains(&format!("(\"{name}\", ")));
    let missing: Vec<String> = missing.map(str::to_owned).collect();
    none("targets that random changes leave out", "List them in fuzz/changes/main.rs.", &missing);
}
