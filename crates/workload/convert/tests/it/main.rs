//! What other tools' files become, as files: `testdata/tsung/*.xml` and `testdata/har/*.har`, each
//! beside the scenario (`.yaml`) that it becomes; `testdata/tsung/bad/*.xml` beside what is said of
//! them (`.expected`). `UPDATE=1` rewrites those.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod bruno;
mod collections;
mod commands;
mod corpus;
mod descriptions;
mod exports;
mod plans;
mod recordings;
mod tsung_steps;

use std::path::{Path, PathBuf};

use convert::{Conversion, Leniency, decode, har, tsung};
use plan::Plan;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use scenario::{Diagnostic, Severity, Source, render};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata")
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(testdata().join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    files.sort();
    files
}

fn from_tsung(name: &str, text: &str, leniency: Leniency) -> (Option<Conversion>, Vec<Diagnostic>) {
    let files = |name: &str| {
        std::fs::read_to_string(testdata().join("tsung").join(name)).map_err(|e| e.to_string())
    };
    let settings = tsung::Settings { leniency, files: &files };
    tsung::convert(Source { name, text }, &settings)
}

/// Compiles a scenario whose files are those beside the Tsung files.
fn compile(text: &str) -> (Option<Plan>, Vec<Diagnostic>) {
    let settings = scenario::Settings {
        overrides: &[],
        env: &|_| Some("value".to_owned()),
        files: &|name| {
            let path = testdata().join("tsung").join(name);
            std::fs::read_to_string(path).map_err(|e| e.to_string())
        },
    };
    let source = Source { name: "test.yaml", text };
    scenario::compile(source, &settings)
}

/// Compares with the file, or writes it.
fn golden(path: &Path, found: &str, different: &mut Vec<String>) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if found != expected {
        let name = path.display();
        different.push(format!("{name}\n--- expected\n{expected}\n--- found\n{found}"));
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap()
}

#[track_caller]
fn assert_compiles(name: &str, converted: &Conversion) {
    let (plan, diagnostics) = compile(&converted.text);
    let text = &converted.text;
    let said = render(&diagnostics, Source { name, text });
    // Of credentials it is reported that they are kept, which is so.
    let sound = diagnostics.iter().all(|one| one.code == "plain-secret");
    assert!(plan.is_some() && sound, "{name}\n{said}\n{text}");
}

/// What is made of a changed file need not be what anyone wants, but the check accepts it.
#[track_caller]
fn assert_runs(converted: &Conversion) {
    let text = &converted.text;
    let files = |name: &str| match name.strip_prefix(scenario::BINARY) {
        Some(_) => Ok("aGVsbG8=".to_owned()),
        None => Ok("a,b\n1,2\n".to_owned()),
    };
    // Whatever a variable is for.
    let accepted = ["value", "http://value.test"].iter().any(|value| {
        let env = |_: &str| Some((*value).to_owned());
        convert::problems(converted, &files, &env).is_empty()
    });
    assert!(accepted, "{text}");
}

#[test]
fn tsung_files_become_scenarios() {
    let mut different = Vec::new();
    for path in files("tsung", "xml") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = name_of(&path);
        let (converted, diagnostics) = from_tsung(name, &text, Leniency::Strict);
        let said = render(&diagnostics, Source { name, text: &text });
        let converted = converted.unwrap_or_else(|| panic!("{said}"));
        assert_compiles(name, &converted);
        golden(&path.with_extension("yaml"), &converted.text, &mut different);
        golden(&path.with_extension("warnings"), &said, &mut different);
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

#[test]
fn wrong_tsung_files_are_reported_as_expected() {
    let mut different = Vec::new();
    let all = files("tsung/bad", "xml");
    assert!(all.len() >= 15, "only {} files", all.len());
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = name_of(&path);
        let (converted, diagnostics) = from_tsung(name, &text, Leniency::Strict);
        let mut said = render(&diagnostics, Source { name, text: &text });
        if let Some(converted) = converted {
            // Then the scenario itself is wrong, and the place is the XML's.
            let (plan, diagnostics) = compile(&converted.text);
            assert!(plan.is_none(), "{name} runs");
            for diagnostic in &diagnostics {
                let at = converted.origin(diagnostic.line).unwrap();
                let line = 1 + text[..at.start].matches('\n').count();
                let Diagnostic { message, .. } = diagnostic;
                said += &format!("{name}:{line}: {message} ({})\n", &text[at]);
            }
        }
        golden(&path.with_extension("expected"), &said, &mut different);
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

#[test]
fn what_is_lost_is_left_out_on_demand() {
    let path = testdata().join("tsung/bad/lost.xml");
    let text = std::fs::read_to_string(path).unwrap();
    let (converted, diagnostics) = from_tsung("lost.xml", &text, Leniency::Lenient);
    assert!(diagnostics.iter().all(|d| d.severity == Severity::Warning), "{diagnostics:?}");
    assert!(diagnostics.iter().filter(|d| d.code == "left-out").count() >= 7, "{diagnostics:?}");
    let converted = converted.expect("warnings do not hinder");
    let (plan, said) = compile(&converted.text);
    assert!(plan.is_some(), "{said:?}\n{}", converted.text);
}

#[test]
fn xml_comes_in_several_encodings() {
    let text = "<?xml version='1.0' encoding='ISO-8859-1'?><tsung>\u{e9}</tsung>";
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    assert!(convert::is_xml(&latin));
    assert_eq!(decode(&latin).unwrap(), text);
    let utf16: Vec<u8> =
        "\u{feff}<tsung>\u{1f600}</tsung>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(convert::is_xml(&utf16));
    assert_eq!(decode(&utf16).unwrap(), "<tsung>\u{1f600}</tsung>");
    let big: Vec<u8> = "\u{feff}<tsung/>".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(decode(&big).unwrap(), "<tsung/>");
    assert_eq!(decode(b"\xef\xbb\xbf<tsung/>").unwrap(), "<tsung/>");
    let said = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    assert!(said(b"<tsung>\xe9</tsung>").contains("byte 7 is not UTF-8"));
    assert!(said(b"<?xml version='1.0' encoding='EBCDIC'?><tsung/>").contains("\"ebcdic\""));
    assert!(said(&utf16[..utf16.len() - 1]).contains("UTF-16"));
    assert!(said(b"<?xml version='1.0' encoding=\"us-ascii\"?><t>\xe9</t>").contains("US-ASCII"));
    assert!(!convert::is_xml(b"target: x"));
}

#[test]
fn recordings_become_scenarios() {
    let mut different = Vec::new();
    for path in files("har", "har") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = name_of(&path);
        for (ending, statics, third_parties) in [
            ("yaml", har::Statics::Group, false),
            ("all.yaml", har::Statics::Keep, true),
            ("bare.yaml", har::Statics::Skip, false),
        ] {
            let settings = har::Settings { statics, third_parties, cached: third_parties };
            let (converted, diagnostics) = har::convert(Source { name, text: &text }, &settings);
            let converted = converted.unwrap_or_else(|| panic!("{diagnostics:?}"));
            assert_compiles(name, &converted);
            golden(&path.with_extension(ending), &converted.text, &mut different);
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

/// A recording with these entries: what follows the start, and the response's keys besides its status.
fn recording(entries: &[(&str, u16, &str)]) -> String {
    let entry = |(index, (entry, status, response)): (usize, &(&str, u16, &str))| {
        format!(
            r#"{{"startedDateTime":"2026-01-31T09:30:0{index}Z","time":{}{entry},
            "request":{{"method":"GET","url":"http://a.test/{index}"}},
            "response":{{"status":{status}{response}}}}}"#,
            60 * (index + 1)
        )
    };
    let entries: Vec<String> = entries.iter().enumerate().map(entry).collect();
    format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(","))
}

#[test]
fn requests_that_the_cache_answered_are_left_out_and_counted() {
    let text = recording(&[
        ("", 200, ""),
        (r#","_fromCache":"memory""#, 200, ""),
        ("", 200, r#","_transferSize":0"#),
        ("", 304, ""),
        (r#","_fetchType":"Disk Cache""#, 200, ""),
        // These went to the server.
        (r#","connection":"443""#, 304, r#","_transferSize":120"#),
        (r#","_fromCache":null,"_fetchType":"Network Load""#, 200, r#","_transferSize":300"#),
        (r#","connection":"443""#, 304, ""),
    ]);
    let converted = |cached: bool| {
        let settings = har::Settings { statics: har::Statics::Group, third_parties: false, cached };
        let source = Source { name: "x.har", text: &text };
        let (converted, diagnostics) = har::convert(source, &settings);
        let converted = converted.unwrap();
        assert_compiles("x.har", &converted);
        let requested = (0..8).filter(|n| converted.text.contains(&format!("get: /{n}\n")));
        (requested.collect::<Vec<_>>(), render(&diagnostics, source))
    };
    let (requested, said) = converted(false);
    assert_eq!(requested, [0, 5, 6, 7]);
    let expected =
        "left out requests that the browser answered from its cache (--cached keeps them): 4";
    assert!(said.contains(expected), "{said}");
    let (requested, said) = converted(true);
    assert_eq!(requested, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(said, "");
}

#[test]
fn a_recording_from_the_cache_alone_says_what_to_do() {
    let text = recording(&[(r#","_fromCache":"disk""#, 200, "")]);
    let settings =
        har::Settings { statics: har::Statics::Group, third_parties: false, cached: false };
    let source = Source { name: "x.har", text: &text };
    let (converted, diagnostics) = har::convert(source, &settings);
    assert!(converted.is_none());
    let said = render(&diagnostics, source);
    assert!(
        said.contains("hint: record with the browser's cache switched off, or add --cached"),
        "{said}"
    );
}

/// The limit of a request is twice its p95 in the recording; a cached one's time is not the server's.
#[test]
fn recorded_times_become_thresholds() {
    let text = recording(&[("", 200, ""), (r#","_fromCache":"memory""#, 200, ""), ("", 500, "")]);
    let settings =
        har::Settings { statics: har::Statics::Group, third_parties: false, cached: true };
    let source = Source { name: "x.har", text: &text };
    let (converted, _) = har::convert(source, &settings);
    let text = converted.unwrap().text;
    let thresholds = text.split("thresholds:\n").nth(1).unwrap();
    assert_eq!(
        thresholds,
        "  # What must hold for a run to pass: edit it.\n  - error_rate < 1%\n  # Twice the p95 of the times in the \
         recording, rounded up, at least 100 ms.\n  - p95(\"GET /0\") < 120ms\n  - p95(\"GET /2\") < 360ms\n"
    );
}

#[test]
fn what_is_not_a_recording_is_reported() {
    let settings =
        har::Settings { statics: har::Statics::Keep, third_parties: false, cached: false };
    let said = |text: &str| {
        let source = Source { name: "x.har", text };
        let (converted, diagnostics) = har::convert(source, &settings);
        assert!(converted.is_none());
        render(&diagnostics, source)
    };
    assert!(said("{\"log\": {").contains("not JSON"));
    assert!(said("{}").contains("no `log.entries`"));
    assert!(said("{\"log\": {\"entries\": []}}").contains("no HTTP request with a response"));
    let timeless = r#"{"log":{"entries":[{"startedDateTime":"then","request":{"url":"http://a/"},"response":{"status":200}}]}}"#;
    assert!(said(timeless).contains("startedDateTime"));
}

/// Elements, values and entities that are nested more deeply than a stack holds.
#[test]
fn what_is_nested_too_deeply_is_reported() {
    const LEVELS: usize = 200_000;
    let look = || {
        for front in ["<a>", "<tsung><a>", "<!DOCTYPE a [", "<!--", "<a b='", "&lt;", "<![CDATA["] {
            let text = format!("<?xml version=\"1.0\"?>{}", front.repeat(LEVELS));
            let (converted, diagnostics) = from_tsung("x.xml", &text, Leniency::Lenient);
            assert!(converted.is_none() && !diagnostics.is_empty(), "{front}");
        }
        let levels = 1_000;
        let closed = format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
        let (_, diagnostics) = from_tsung("x.xml", &closed, Leniency::Strict);
        assert_eq!(diagnostics[0].code, "too-deep");
        let settings =
            har::Settings { statics: har::Statics::Keep, third_parties: false, cached: false };
        for front in ["[", "{\"log\":", "{\"log\":{\"entries\":["] {
            let text = front.repeat(LEVELS);
            let source = Source { name: "x.har", text: &text };
            let (converted, diagnostics) = har::convert(source, &settings);
            assert!(converted.is_none() && !diagnostics.is_empty(), "{front}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(look).unwrap().join().unwrap();
}

/// Seeds are fixed, so that every build tries the same cases everywhere.
fn config() -> Config {
    Config {
        cases: 400,
        rng_seed: RngSeed::Fixed(20_150_805),
        failure_persistence: None,
        ..Config::default()
    }
}

/// A place of a text, how much is taken out there, and what is put in.
type Cut = (prop::sample::Index, usize, String);

fn cuts() -> impl Strategy<Value = Vec<Cut>> {
    let instead = "[ -~\u{e9}\n$%&;<>\"'=/{}\\[\\]]{0,12}";
    prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, instead), 1..6)
}

/// The text with pieces cut out and replaced.
fn changed(text: &str, cuts: &[Cut]) -> String {
    let mut text = text.to_owned();
    for (at, length, instead) in cuts {
        let mut start = at.index(text.len().max(1)).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = (start + length).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        text.replace_range(start..end, instead);
    }
    text
}

proptest! {
    #![proptest_config(config())]

    /// A sound file with pieces cut out, put elsewhere or replaced makes nothing panic, and where
    /// it becomes a scenario that one is read without panic, too.
    #[test]
    fn no_tsung_file_panics(cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..40usize, "[ -~\u{e9}%&;<>\"'=/]{0,12}"), 1..6)) {
        let mut text = std::fs::read_to_string(testdata().join("tsung/everything.xml")).unwrap();
        for (at, len, instead) in cuts {
            let mut start = at.index(text.len());
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + len).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, &instead);
        }
        for leniency in [Leniency::Strict, Leniency::Lenient] {
            if let (Some(converted), _) = from_tsung("x.xml", &text, leniency) {
                compile(&converted.text);
            }
        }
    }

    #[test]
    fn no_commands_panic(cuts in cuts()) {
        let text = "curl 'https://a.test/a b?x=${1}' -H 'A: b' -d \"a=$X&password=p\" -F 'f=@a.png;type=x' -u a:b\n\
                    B=http://b.test; curl -G $B/c -d @body.json --next -sXPUT $'http://c/\\u00e9' | jq . # x\nsleep 1\n";
        commands::assert_sound(&changed(text, &cuts));
    }

    #[test]
    fn no_collection_panics(cuts in cuts()) {
        collections::assert_sound(&changed(collections::SHOP, &cuts));
    }

    #[test]
    fn no_request_of_bruno_panics(cuts in cuts()) {
        bruno::assert_sound(&changed(bruno::SHOP, &cuts));
    }

    #[test]
    fn no_export_panics(cuts in cuts()) {
        exports::assert_sound(&changed(exports::FOUR, &cuts));
        exports::assert_sound(&changed(exports::FIVE, &cuts));
    }

    #[test]
    fn no_description_panics(cuts in cuts()) {
        descriptions::assert_sound(&changed(descriptions::PETS, &cuts));
    }

    #[test]
    fn no_plan_panics(cuts in cuts()) {
        plans::assert_sound(&changed(&plans::shop(), &cuts));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        convert::is_xml(&bytes);
        if let Ok(text) = decode(&bytes) {
            from_tsung("x.xml", &text, Leniency::Lenient);
        }
    }

    #[test]
    fn no_recording_of_websockets_panics(cuts in cuts()) {
        recordings::assert_sound(&changed(&recordings::chat(), &cuts));
    }

    #[test]
    fn no_recording_panics(at in any::<prop::sample::Index>(), len in 0..30usize, instead in "[ -~\u{e9}]{0,8}") {
        let mut text = std::fs::read_to_string(testdata().join("har/shop.har")).unwrap();
        let mut start = at.index(text.len());
        while !text.is_char_boundary(start) { start -= 1; }
        let mut end = (start + len).min(text.len());
        while !text.is_char_boundary(end) { end += 1; }
        text.replace_range(start..end, &instead);
        let settings = har::Settings { statics: har::Statics::Group, third_parties: true, cached: true };
        let source = Source { name: "x.har", text: &text };
        if let (Some(converted), _) = har::convert(source, &settings) {
            assert_runs(&converted);
        }
    }
}
