//! What the sources themselves must hold to: absences, and lengths.

use std::sync::LazyLock;

use super::{ROOT, TESTKIT, files_below, none, read, relative};

/// Sources that must not name any of [`IMPURE`], by the beginnings of their paths below `crates`.
const PURE: &[&str] = &[
    "base/stats/",
    "protocols/grpc/",
    "protocols/html/",
    "protocols/proto/",
    "protocols/protos/",
    "workload/plan/src/json",
    "workload/scenario/",
    "results/compare/",
    "results/judge/",
    "generator/engine/",
];
/// A client of servers, within a crate that is pure otherwise.
const NOT_PURE: &[&str] = &["protocols/protos/src/reflection"];
const IMPURE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "ToSocketAddrs",
    "UdpSocket",
    "io::stdin",
    "io::stdout",
    "std::env",
    "std::fs",
    "std::process",
    "std::thread",
];

/// Calls that open a file to be read, whatever it is.
const OPENS: &[&str] = &["File::open(", "fs::read(", "fs::read_to_string("];
/// Sources that open files which nobody else names, by the beginnings of their paths, and which these are.
const OWN_FILES: &[(&str, &str)] = &[
    ("crates/app/throng/build.rs", "the one of the sources that names their commit"),
    ("crates/base/machine/", "those of the kernel"),
    ("crates/base/record/src/durability.rs", "folders, to sync them"),
    ("crates/base/record/src/whole.rs", "files that it has just written, to sync them"),
    ("crates/generator/controller/src/names/client.rs", "those of the system's resolver"),
    ("crates/generator/fleet/src/local.rs", "the one that its NATS server writes"),
    ("crates/generator/fleet/src/spool.rs", "those of its own closed directory"),
    ("crates/generator/workers/src/rows/left.rs", "rows that it has just written"),
    ("crates/lab/lab/", "those of its own closed directory, and of the kernel"),
    ("crates/results/report/build.rs", "those of the sources"),
    ("crates/results/report/src/page/typescript.rs", "those of the sources"),
    ("crates/systems/market/src/outside/bus/testing.rs", "those of the kernel"),
    ("crates/systems/server/src/clock.rs", "the one of the lab that started it"),
    ("crates/systems/server/src/metrics.rs", "those of the kernel"),
    ("crates/workload/model/src/sorter.rs", "those that it has just written"),
];

/// How many of the longest files and functions are printed.
const PRINTED: usize = 10;

/// A source file and its text up to its inline tests.
pub(super) struct Source {
    /// From the root of the workspace.
    pub(super) path: String,
    pub(super) krate: String,
    /// The text up to the inline tests.
    pub(super) code: String,
    pub(super) whole: String,
    /// Compiled for tests or examples only.
    pub(super) is_test: bool,
}

pub(super) static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut files = Vec::new();
    files_below(&ROOT.join("crates"), "rs", &mut files);
    let texts: Vec<_> = files.iter().map(|file| (relative(file), read(file))).collect();
    let test_modules: Vec<String> =
        texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let sources = texts.iter().map(|(path, text)| Source {
        krate: path.split('/').nth(2).unwrap_or_default().to_owned(),
        is_test: is_beside_src(path) || test_modules.iter().any(|module| is_part_of(path, module)),
        code: text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned(),
        whole: text.clone(),
        path: path.clone(),
    });
    sources.collect()
});

/// The modules with files of their own that this file declares for tests only, as paths without `.rs`.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let folder = match name {
        "lib.rs" | "main.rs" => folder,
        _ => path.trim_end_matches(".rs"),
    };
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
        let line = rest.lines().next()?;
        let (visibility, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
        ["", "pub ", "pub(crate) ", "pub(super) "]
            .contains(&visibility)
            .then(|| format!("{folder}/{name}"))
    });
    declared.collect()
}

/// Whether a file holds this module or one below it.
fn is_part_of(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Whether a file is compiled for tests, examples or benchmarks only, by its place.
fn is_beside_src(path: &str) -> bool {
    let mut parts = path.split('/').skip(2);
    let krate = parts.next();
    let folder = parts.next().unwrap_or_default();
    krate == Some(TESTKIT) || ["tests", "examples", "benches"].contains(&folder)
}

#[test]
fn files_of_tests_are_known_by_their_whole_path() {
    let text = "#[cfg(test)]\nmod sample;\nmod other;\n#[cfg(test)]\npub(crate) mod made;\n\
                #[cfg(test)]\nmod tests {}\n";
    assert_eq!(
        test_modules("crates/results/judge/src/lib.rs", text),
        ["crates/results/judge/src/sample", "crates/results/judge/src/made"]
    );
    assert_eq!(
        test_modules("crates/systems/market/src/bus/redis.rs", text)[0],
        "crates/systems/market/src/bus/redis/sample"
    );
    let module = "crates/results/judge/src/sample";
    assert!(is_part_of("crates/results/judge/src/sample.rs", module));
    assert!(is_part_of("crates/results/judge/src/sample/runs.rs", module));
    assert!(!is_part_of("crates/results/judge/src/samples.rs", module));
    assert!(!is_part_of("crates/base/stats/src/sample.rs", module));
    let by_path = |path: &str| SOURCES.iter().find(|source| source.path == path).unwrap();
    assert!(by_path("crates/results/judge/src/sample.rs").is_test);
    assert!(!by_path("crates/base/stats/src/sample.rs").is_test);
    assert!(by_path("crates/app/testkit/src/needs.rs").is_test);
}

fn shipped() -> impl Iterator<Item = &'static Source> {
    SOURCES.iter().filter(|source| !source.is_test)
}

/// Lines of code as (number from 1, text), comments left out.
fn lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let numbered = source.code.lines().enumerate().map(|(i, line)| (i + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn is_pure(path: &str) -> bool {
    let begins =
        |start: &&str| path.strip_prefix("crates/").is_some_and(|path| path.starts_with(*start));
    PURE.iter().any(begins) && !NOT_PURE.iter().any(begins)
}

#[test]
fn pure_crates_do_no_input_or_output() {
    let mut found = Vec::new();
    for source in shipped().filter(|source| is_pure(&source.path)) {
        for (number, line) in lines(source) {
            for word in IMPURE.iter().filter(|word| line.contains(*word)) {
                found.push(format!("{}:{number} names {word}", source.path));
            }
        }
    }
    let instead = "Take the text, the bytes or the time as an argument; the caller does the rest.";
    none("input and output in sources that are free of it", instead, &found);
}

#[test]
fn only_the_real_driver_has_a_clock_and_sockets() {
    let mut found = Vec::new();
    for source in shipped().filter(|source| ["driver", "engine"].contains(&source.krate.as_str())) {
        let is_real = source.path.starts_with("crates/generator/driver/src/real");
        for (number, line) in lines(source).filter(|_| !is_real) {
            if ["Instant", "SystemTime", "rustix::", "libc::", "machine::", "std::net::Tcp"]
                .iter()
                .any(|word| line.contains(word))
            {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    let instead = "Pass `now_ns` in, and add a command or an event; `driver::real` carries it out.";
    none("clock or system calls outside driver/src/real", instead, &found);
}

/// Whether a line has this call: `fs::read(`, and not `procfs::read(`.
fn calls(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
}

#[test]
fn files_that_somebody_names_are_opened_by_one_reader() {
    let mut found = Vec::new();
    for source in shipped().filter(|source| source.krate != "regular") {
        if OWN_FILES.iter().any(|(path, _)| source.path.starts_with(path)) {
            continue;
        }
        for (number, line) in lines(source) {
            if OPENS.iter().any(|call| calls(line, call)) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    let instead = "Call `regular::open`, `read` or `read_text`, which wait for no pipe and read no device; or list \
                   the source in OWN_FILES, with the reason why nobody else chooses what is opened.";
    none("files are opened without a check of what they are", instead, &found);
}

#[test]
fn no_unfinished_work_is_left() {
    // Put together here, so that this file does not find itself.
    let words = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["todo", "!("], ["unimplemented", "!("]];
    let mut found = Vec::new();
    for source in SOURCES.iter() {
        for (number, line) in source.code.lines().enumerate() {
            if words.iter().any(|word| line.contains(&word.concat())) {
                found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    none("unfinished work in the sources", "Finish it, or open an issue and take it out.", &found);
}

#[test]
fn nothing_unwraps_outside_tests() {
    let mut found = Vec::new();
    for source in shipped() {
        for (number, line) in lines(source).filter(|(_, line)| line.contains(".unwrap()")) {
            found.push(format!("{}:{number}: {}", source.path, line.trim()));
        }
    }
    let instead = "Return the error, or say .expect(\"why this cannot fail\").";
    none("unwrap() outside tests", instead, &found);
}

/// `scripts/test.sh` does not look for tests in documentation.
#[test]
fn code_in_documentation_is_no_test() {
    let block = |line: &str| {
        let text = line.trim_start();
        let text = text.strip_prefix("///").or(text.strip_prefix("//!"))?;
        text.trim().strip_prefix("```").map(str::to_owned)
    };
    let mut tests = Vec::new();
    for source in SOURCES.iter() {
        let blocks = source.whole.lines().filter_map(block);
        // Every second line ends a block.
        let tested = blocks.step_by(2).filter(|language| language != "text");
        tests.extend(tested.map(|language| format!("{}: ```{language}", source.path)));
    }
    none(
        "code in documentation that cargo would run",
        "Write ```text, and make the code a test or an example.",
        &tests,
    );
}

#[test]
fn no_mod_rs_files() {
    let old: Vec<_> = SOURCES
        .iter()
        .filter(|source| source.path.ends_with("/mod.rs"))
        .map(|source| source.path.clone())
        .collect();
    none("mod.rs files", "Name the file after its module: foo.rs beside foo/.", &old);
}

/// Functions as (lines, name), found by the layout that rustfmt gives them.
fn functions(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (number, line) in source.code.lines().enumerate() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some((start, name, end)) = &open {
            if line == end {
                found.push((number + 1 - start, name.clone()));
                open = None;
            } else if line.ends_with(';') && line.starts_with(&end.replace('}', ")")) {
                // A trait's method without a body.
                open = None;
            }
            continue;
        }
        let line = line.replace("pub(crate)", "pub").replace("pub(super)", "pub");
        let head = line.split('(').next().unwrap_or_default();
        let mut words = head.split_whitespace();
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment && words.by_ref().any(|word| word == "fn") && !line.trim_end().ends_with(';')
        {
            let name = words.next().unwrap_or_default().split('<').next().unwrap_or_default();
            let ends_here = line.ends_with('}');
            if !ends_here {
                let name = format!("{}: {name}", source.path);
                open = Some((number, name, format!("{indent}}}")));
            }
        }
    }
    found
}

#[test]
#[expect(clippy::print_stdout, reason = "shown by cargo test -- --nocapture")]
fn the_longest_files_and_functions_are_printed() {
    let count = |source: &Source| source.code.lines().count();
    let mut files: Vec<_> = shipped().map(|s| (count(s), s.path.clone())).collect();
    files.sort_by(|a, b| b.cmp(a));
    let mut functions: Vec<_> = shipped().flat_map(functions).collect();
    functions.sort_by(|a, b| b.cmp(a));
    assert!(files.len() > PRINTED && functions.len() > PRINTED);
    for (title, longest) in [("files", &files), ("functions", &functions)] {
        println!("the longest {title}, inline tests aside:");
        for (lines, name) in longest.iter().take(PRINTED) {
            println!("  {lines:4} {name}");
        }
    }
}
