//! Tests of what the documents say of the command line: its verbs, exit codes, and options.

use std::collections::BTreeMap;

use clap::{Arg, Command, CommandFactory};
use testkit::documents::assert_blocks;
use testkit::needs::root;

use super::Args;

/// Systems whose page has a table of their options.
const PAGES: &[(&str, &str)] = &[
    ("ads", "docs/ads.md"),
    ("chat", "docs/chat.md"),
    ("market", "docs/market-reference.md"),
    ("queue", "docs/queue-reference.md"),
];
/// An option of all systems that is for programs which start them.
const FOR_PROGRAMS: &str = "--until-stdin-closes";

/// The verbs, with what each does.
fn verbs() -> String {
    let mut rows = "| command | what it does |\n|---|---|\n".to_owned();
    for verb in Args::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let about = verb.get_about().expect("each verb says what it does");
        rows += &format!("| `{}` | {about} |\n", verb.get_name());
    }
    rows
}

/// The exit codes that the help of a verb lists, with their meaning.
fn exit_codes(verb: &str) -> String {
    let args = Args::command();
    let command = args.find_subcommand(verb).expect("there is such a verb");
    let help = command.get_after_help().expect("its help lists exit codes").to_string();
    let (_, codes) = help.split_once("Exit codes:\n").expect("they have a heading");
    let mut rows = "| exit code | meaning |\n|---|---|\n".to_owned();
    // A line below a meaning continues it.
    for line in codes.replace("\n       ", " ").lines() {
        let (code, meaning) = line.trim_start().split_once(' ').expect("a code has a meaning");
        rows += &format!("| {code} | {} |\n", meaning.trim_start());
    }
    rows
}

/// `UPDATE=1` writes them into the pages.
#[test]
fn the_pages_have_the_verbs_and_the_exit_codes_of_the_help() {
    let page = "docs/commands.md";
    assert_blocks(page, "generated", [("commands", verbs()), ("exit codes", exit_codes("run"))]);
    assert_blocks("docs/capacity.md", "generated", [("exit codes", exit_codes("capacity"))]);
}

/// The options in the tables of a page, with their defaults.
fn listed_options(page: &str) -> BTreeMap<String, String> {
    let mut listed = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `--")) {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let first = cells.next().unwrap_or_default();
        let all_defaults = cells.next().unwrap_or_default();
        let quoted = first.split('`').skip(1).step_by(2);
        // The option without the name of its value.
        let names = quoted.filter_map(|text| text.split(' ').next());
        let names: Vec<&str> = names.collect();
        let defaults: Vec<&str> = all_defaults.split(", ").collect();
        for (number, name) in names.iter().enumerate() {
            let own = if defaults.len() == names.len() { defaults[number] } else { all_defaults };
            listed.insert((*name).to_owned(), own.to_owned());
        }
    }
    listed
}

/// The default of an option, as its help states it.
fn default_of(option: &Arg) -> String {
    if let [value] = option.get_default_values() {
        return value.to_string_lossy().into_owned();
    }
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let stated = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
    stated.map(|(default, _)| default.to_owned()).unwrap_or_default()
}

/// What differs between a page and the options of a command.
fn differences(command: &Command, page: &str) -> Vec<String> {
    let mut listed = listed_options(page);
    let mut found = Vec::new();
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(long) = option.get_long() else { continue };
        let name = format!("--{long}");
        let default = default_of(option);
        match listed.remove(&name) {
            // What is no number is said in the words of the page, or by another page.
            Some(shown) => {
                let shown = shown.replace(['`', ','], "");
                let is_number = default.starts_with(|c: char| c.is_ascii_digit());
                if is_number && !shown.is_empty() && shown != default {
                    found.push(format!("{name} has the default {default}, not {shown}"));
                }
            }
            None if name == FOR_PROGRAMS || page.contains(&format!("`{name}`")) => {}
            None => found.push(format!("{name} is not named")),
        }
    }
    found.extend(listed.into_keys().map(|name| format!("there is no {name}")));
    found
}

#[test]
fn the_pages_of_systems_list_their_options_and_defaults() {
    let args = Args::command();
    let serve = args.find_subcommand("serve").expect("there is such a verb");
    for (system, page) in PAGES {
        let command = serve.find_subcommand(system).expect("there is such a system");
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let found = differences(command, &text);
        assert!(found.is_empty(), "{page}: {found:#?}");
    }
}

#[test]
fn options_that_a_page_lacks_or_invents_are_found() {
    let command = Command::new("it")
        .arg(Arg::new("size").long("size").default_value("64KiB"))
        .arg(Arg::new("count").long("count").help("How many [default: 1000]"))
        .arg(Arg::new("new").long("new"));
    let page = "| `--size`, `--count N` | 64KiB, 1,000 | … |\n";
    assert_eq!(differences(&command, page), ["--new is not named"]);
    let page =
        "`--new`\n| `--size` | `1KiB` | … |\n| `--count N` | 1,000 | … |\n| `--old` | | … |\n";
    let wrong = ["--size has the default 64KiB, not 1KiB", "there is no --old"];
    assert_eq!(differences(&command, page), wrong);
}
