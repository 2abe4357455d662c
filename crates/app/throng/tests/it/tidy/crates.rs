//! What the documents say of the crates: each has its section, from which the maps of all of them follow.

use std::collections::BTreeSet;

use cargo_metadata::Package;
use testkit::documents::assert_blocks;

use super::{ORDER, PACKAGES, ROOT, SYSTEMS, folder, none, read};

const REFERENCE: &str = "docs/architecture-reference.md";

/// A crate, in the order in which the reference describes them.
struct Described<'a> {
    package: &'static Package,
    /// Its modules that have a section of their own; and what stands beside it and is no crate, as `web/`.
    parts: Vec<&'a str>,
}

/// What the reference has a section of, in its order.
fn headings(reference: &str) -> Vec<&str> {
    let names = reference.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    names.collect()
}

fn described(reference: &str) -> Vec<Described<'_>> {
    let mut crates: Vec<Described> = Vec::new();
    for name in headings(reference) {
        if let Some(package) = PACKAGES.iter().find(|package| *package.name == *name) {
            crates.push(Described { package, parts: Vec::new() });
            continue;
        }
        let before = crates.last_mut().expect("the first section is that of a crate");
        let is_part =
            name.starts_with(&format!("{}::", before.package.name)) || name.ends_with('/');
        assert!(is_part, "{REFERENCE}: {name} stands behind {}", before.package.name);
        before.parts.push(name);
    }
    crates
}

/// A link to a section of the reference.
fn link(page: &str, title: &str, name: &str) -> String {
    let anchor = name.replace([':', '/'], "");
    format!("[{title}]({page}#{anchor})")
}

/// `a`, `a and b`, `a, b and c`.
fn enumerated(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[test]
fn the_reference_describes_every_crate_once() {
    let reference = read(&ROOT.join(REFERENCE));
    let mut known = BTreeSet::new();
    let sections = headings(&reference).into_iter();
    let repeated = sections.filter(|name| !known.insert(*name)).map(str::to_owned);
    let repeated: Vec<String> = repeated.collect();
    none("sections that the reference has twice", "Keep one of them.", &repeated);
    let crates = PACKAGES.iter().map(|package| package.name.as_str());
    let missing = crates.filter(|name| !known.contains(name)).map(str::to_owned);
    let missing: Vec<String> = missing.collect();
    none("crates without a section", "Say what the crate is and must never do.", &missing);
}

/// `UPDATE=1` writes both maps: the crates with their modules, and what each crate is.
#[test]
fn the_maps_of_the_crates_follow_from_folders_and_sections() {
    let reference = read(&ROOT.join(REFERENCE));
    let crates = described(&reference);
    let mut sections = "| folder | crates |\n|---|---|\n".to_owned();
    let mut sentences = "| folder | crate | what it is |\n|---|---|---|\n".to_owned();
    for place in ORDER.iter().copied().flatten().copied().chain([SYSTEMS]) {
        let mut links = Vec::new();
        let mut first_cell = format!("`{place}`");
        for Described { package, parts } in crates.iter().filter(|c| folder(c.package) == place) {
            let name = package.name.as_str();
            let mut text = link("", name, name);
            if !parts.is_empty() {
                let title = |part: &str| part.rsplit("::").next().unwrap_or(part).to_owned();
                let parts = parts.iter().map(|part| link("", &title(part), part));
                text += &format!(" with {}", enumerated(&parts.collect::<Vec<_>>()));
            }
            links.push(text);
            let linked = link("architecture-reference.md", name, name);
            let sentence = package.description.as_deref().unwrap_or_default();
            sentences += &format!("| {first_cell} | {linked} | {sentence} |\n");
            first_cell.clear();
        }
        sections += &format!("| `{place}` | {} |\n", links.join(", "));
    }
    assert_blocks(REFERENCE, "generated", [("crates", sections)]);
    assert_blocks("docs/architecture.md", "generated", [("crates", sentences)]);
}
