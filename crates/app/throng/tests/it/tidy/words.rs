//! Words that users of this field do not use. docs/glossary.md says what to write instead.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::sources::{SOURCES, Source};
use super::{ROOT, files_below, none, read, relative};

/// Words and phrases that no text for users has, lower-case.
const BANNED: &[&str] = &[
    "anew",
    "ask",
    "asked",
    "asking",
    "asks",
    "audience",
    "broken off",
    "crew",
    "cured",
    "dealing",
    "dealings",
    "door",
    "employee",
    "ended ill",
    "ended well",
    "farewell",
    "foreign",
    "gate",
    "gear",
    "go on with",
    "goes on with",
    "going on with",
    "gone on with",
    "guest",
    "hall",
    "hear",
    "heard",
    "hears",
    "heed",
    "heeds",
    "hire",
    "hired",
    "house",
    "in vain",
    "knob",
    "knobs",
    "knock",
    "knocks",
    "lookout",
    "mend",
    "mended",
    "mending",
    "mends",
    "oddities",
    "oddity",
    "passed over",
    "patience",
    "seat",
    "seats",
    "seldom",
    "shelf",
    "so long",
    "so many",
    "tell",
    "telling",
    "tells",
    "told",
    "unasked",
];

/// Calls and macros whose texts are for maintainers.
const FOR_MAINTAINERS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "expect",
    "expect_err",
    "panic",
    "unreachable",
];

/// Files that quote the banned words.
const QUOTING: &[&str] =
    &["docs/glossary.md", "crates/app/throng/tests/it/tidy/words.rs", "CHANGELOG.md"];

/// The words of a text in lower case. Names are split at underscores and capitals.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut last_is_lower = false;
    for c in text.chars() {
        let is_capital = c.is_uppercase();
        if (!c.is_alphabetic() || is_capital && last_is_lower) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        last_is_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// How often each banned word or phrase occurs.
fn count(text: &str) -> BTreeMap<&'static str, usize> {
    let words = words(text);
    let mut counts = BTreeMap::new();
    for banned in BANNED {
        let phrase: Vec<&str> = banned.split(' ').collect();
        let hits = words.windows(phrase.len()).filter(|found| **found == phrase[..]);
        let hits = hits.count();
        if hits > 0 {
            counts.insert(*banned, hits);
        }
    }
    counts
}

/// Collects the texts of a token stream that users read: string literals, and with `docs` the
/// doc comments that clap prints as help.
fn users_texts(tokens: TokenStream, docs: bool, texts: &mut Vec<(usize, String)>) {
    let mut previous = None;
    let mut is_for_maintainers = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                is_for_maintainers = FOR_MAINTAINERS.contains(&name.as_str());
                previous = Some(name);
                continue;
            }
            TokenTree::Group(group) => {
                let opens_doc = group.delimiter() == Delimiter::Bracket
                    && group.stream().to_string().starts_with("doc ");
                if !is_for_maintainers && (docs || !opens_doc) {
                    users_texts(group.stream(), docs, texts);
                }
                is_for_maintainers = false;
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_reason = previous.as_deref() == Some("reason");
                if text.contains('"') && !is_reason {
                    let line = literal.span().start().line;
                    texts.push((line, text.replace("\\n", " ")));
                }
            }
            TokenTree::Punct(punct) => {
                // `panic!(…)`: the mark stands between the name and its arguments.
                is_for_maintainers &= punct.as_char() == '!';
            }
        }
    }
}

fn texts_of(source: &Source) -> Vec<(usize, String)> {
    let tokens: TokenStream =
        source.code.parse().unwrap_or_else(|error| panic!("{}: {error}", source.path));
    let is_help = source.path.contains("throng/src/args");
    let mut texts = Vec::new();
    users_texts(tokens, is_help, &mut texts);
    texts
}

/// Files of users' texts beside the Rust sources: folders, and how names in them end.
const DOCUMENTS: &[(&str, &[&str])] = &[
    (".github", &["yml"]),
    ("checks", &["py"]),
    ("ci", &["py", "sh", "yml"]),
    ("crates/results/report/src", &["md"]),
    ("crates/systems/targets/src/chat/page", &["css", "html", "js"]),
    ("deploy", &["conf", "nft", "service", "sh", "tf", "tpl", "txt", "yaml", "yml"]),
    ("docs", &["md"]),
    ("examples", &["py", "sh", "yaml", "yml"]),
    ("scripts", &["py", "sh"]),
    ("web/src", &["css", "ts"]),
    ("web/tests", &["ts"]),
];

/// More of them.
const DOCUMENT_FILES: &[&str] = &[
    ".ci/run",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "action.yml",
    "bench/benchmarks.md.in",
    "bench/notes.json",
    "deny.toml",
    "examples/market/down",
    "examples/market/up",
    "examples/queue/down",
    "examples/queue/up",
];

/// Files of users' texts beside the Rust sources: path and text.
fn documents() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (folder, extensions) in DOCUMENTS {
        for extension in *extensions {
            files_below(&ROOT.join(folder), extension, &mut files);
        }
    }
    files.extend(DOCUMENT_FILES.iter().map(|name| ROOT.join(name)));
    let texts = files.iter().map(|file| (relative(file), read(file)));
    texts.filter(|(path, _)| !QUOTING.contains(&path.as_str())).collect()
}

#[test]
fn users_texts_have_no_banned_words() {
    let mut found = Vec::new();
    for source in SOURCES.iter().filter(|source| !source.is_test) {
        for (line, text) in texts_of(source) {
            for word in count(&text).keys() {
                let text: String = text.chars().take(100).collect();
                found.push(format!("{}:{line}: {word:?} in {text}", source.path));
            }
        }
    }
    for (path, text) in documents() {
        for (number, line) in text.lines().enumerate() {
            for word in count(line).keys() {
                found.push(format!("{path}:{}: {word:?} in {line}", number + 1));
            }
        }
    }
    none(
        "words in users' texts that users of this field do not use",
        "docs/glossary.md says what to write instead.",
        &found,
    );
}

#[test]
fn words_are_split_as_readers_read_them() {
    assert_eq!(words("users_told, LoopNews: it's"), ["users", "told", "loop", "news", "it", "s"]);
    let tokens = "#[doc = \"told\"] #[error(\"asked\")] fn f() { x.expect(\"told\"); panic!(\"told\"); g(\"b\") }";
    let mut texts = Vec::new();
    users_texts(tokens.parse().unwrap(), false, &mut texts);
    let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["\"asked\"", "\"b\""]);
}
