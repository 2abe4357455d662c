//! Links between the documents lead to files and headings that exist, and every page is in the list of pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{ROOT, files_below, none, read, relative};

/// The list of pages, from which the site is made.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages outside of `docs`.
const OUTSIDE: &[&str] = &["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

/// The text without code blocks.
fn without_blocks(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The targets of a page's links. Code does not count.
fn links(text: &str) -> Vec<String> {
    let text = without_blocks(text);
    // Every second part is a code span. A title in backquotes leaves its link behind.
    let plain: String = text.split('`').step_by(2).collect();
    let links = plain.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.to_owned()).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = without_blocks(text);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let title = title.replace(' ', "-");
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let anchor: String = title.chars().filter(is_kept).collect();
        let count = counts.entry(anchor.clone()).or_default();
        let earlier = *count;
        *count += 1;
        anchors.insert(if earlier == 0 { anchor } else { format!("{anchor}-{earlier}") });
    }
    anchors
}

fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    files_below(&ROOT.join("docs"), "md", &mut pages);
    pages.extend(OUTSIDE.iter().map(|name| ROOT.join(name)));
    pages
}

/// The file that a link of this page leads to, and its anchor; `None` for a link to another site.
fn target<'a>(page: &Path, link: &'a str) -> Option<(PathBuf, Option<&'a str>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    let path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    Some((path, anchor))
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut dead = Vec::new();
    let mut links_count = 0;
    for page in pages() {
        for link in links(&read(&page)) {
            let Some((path, anchor)) = target(&page, &link) else {
                continue;
            };
            links_count += 1;
            let is_page = path.extension().is_some_and(|found| found == "md");
            // The site has files only.
            let is_dead = !path.is_file()
                || anchor.is_some_and(|anchor| !is_page || !anchors(&read(&path)).contains(anchor));
            if is_dead {
                dead.push(format!("{}: {link}", relative(&page)));
            }
        }
    }
    assert!(links_count > 300, "only {links_count} links found");
    none(
        "links that lead nowhere",
        "A link names a file, relative to its page, and a heading of it.",
        &dead,
    );
}

#[test]
fn every_page_is_in_the_list_of_pages() {
    let summary = ROOT.join(SUMMARY);
    let listed = links(&read(&summary));
    let listed = listed.iter().filter_map(|link| target(&summary, link));
    let listed: BTreeSet<PathBuf> =
        listed.filter_map(|(path, _)| path.canonicalize().ok()).collect();
    let missing = pages().into_iter().filter(|page| !listed.contains(page));
    let missing: Vec<String> = missing.map(|page| relative(&page)).collect();
    none("pages without a place", "List them in docs/SUMMARY.md.", &missing);
}

#[test]
fn links_and_anchors_are_read_as_pages_show_them() {
    let text = "[a](b.md#c) `[not](this)` [`d`](#e)\n```sh\n[nor](this)\n# no heading\n```\n";
    assert_eq!(links(text), ["b.md#c", "#e"]);
    let text = "# The `x` key, again?\n## Same\n## Same\n## \"Ä\" of a_b\n";
    let expected = ["same", "same-1", "the-x-key-again", "ä-of-a_b"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into());
}
