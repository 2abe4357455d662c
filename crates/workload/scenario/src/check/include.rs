//! `include`: sessions, data, messages, functions and thresholds from other files.
//!
//! What a file brings is put into the scenario's tree before overrides change it, so that the rest of the compilation knows
//! one tree. The texts of all files stand one behind the other in the collector: a place of the tree says by its bytes
//! which file it is in.

use std::path::{Component, Path, PathBuf};

use plan::Included;

use crate::check::Settings;
use crate::document::diagnostic::Collector;
use crate::document::node::{Entry, Node, NodeKind, Place};
use crate::document::{suggest, yaml};
use crate::keys::INCLUDE;

/// Most files that a scenario includes.
const FILES_MAX: usize = 64;
/// Deepest chain of files that include each other.
const DEPTH_MAX: usize = 8;
/// The keys of an included file, as messages list them.
const KEYS: [&str; 8] =
    ["include", "params", "script", "messages", "metrics", "data", "sessions", "thresholds"];

/// Puts what the scenario includes into its tree; returns the files.
pub(crate) fn merge(
    root: &mut Node,
    folder: &Path,
    name: &str,
    settings: &Settings<'_>,
    diagnostics: &mut Collector<'_>,
) -> Vec<Included> {
    let Some(node) = root.get("include").filter(|node| !node.is_null()).cloned() else {
        return Vec::new();
    };
    let values_left = yaml::NODES_MAX.saturating_sub(yaml::size(root));
    let bytes_left = yaml::TEXT_BYTES_MAX.saturating_sub(diagnostics.text().len());
    let NodeKind::Mapping(entries) = &mut root.kind else {
        return Vec::new();
    };
    let mut merger = Merger {
        root: entries,
        folder,
        settings,
        diagnostics,
        known: Vec::new(),
        open: vec![normal(Path::new(name))],
        included: Vec::new(),
        bytes_left,
        values_left,
    };
    merger.include(&node);
    merger.included
}

/// A file that is to be included.
struct Wanted {
    file: String,
    place: Place,
    /// Values of its parameters.
    with: Vec<Entry>,
}

struct Merger<'m, 'a> {
    /// The pairs of the scenario.
    root: &'m mut Vec<Entry>,
    /// The scenario's folder, to which all names are relative.
    folder: &'m Path,
    settings: &'m Settings<'m>,
    diagnostics: &'m mut Collector<'a>,
    /// The files that were met so far.
    known: Vec<PathBuf>,
    /// The files that are being read: each includes the next.
    open: Vec<PathBuf>,
    included: Vec<Included>,
    bytes_left: usize,
    values_left: usize,
}

impl Merger<'_, '_> {
    /// The value of `include`: a file, or several.
    fn include(&mut self, node: &Node) {
        for item in node.sequence().unwrap_or(std::slice::from_ref(node)) {
            if let Some(wanted) = self.wanted(item) {
                self.file(wanted);
            }
        }
    }

    fn error(&mut self, code: &'static str, place: &Place, message: String, hint: &str) {
        self.diagnostics.error(code, place, message).hint(hint);
    }

    fn wanted(&mut self, item: &Node) -> Option<Wanted> {
        let mut with = Vec::new();
        let mut file = None;
        match &item.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    match (entry.key.as_str(), &entry.value.kind) {
                        ("file", _) => file = Some(&entry.value),
                        ("with", NodeKind::Mapping(values)) => with.clone_from(values),
                        ("with", _) if entry.value.is_null() => {}
                        ("with", _) => {
                            let found = entry.value.described();
                            let message =
                                format!("expected a mapping of parameters, found {found}");
                            let hint = "write it like `with: { path: /login }`";
                            self.error("wrong-kind", &entry.value.place, message, hint);
                        }
                        (key, _) => {
                            let message = format!("unknown key `{key}` in `include`");
                            let hint = suggest::hint(key, "the keys here are", INCLUDE.names());
                            self.diagnostics
                                .error("unknown-key", &entry.key_place, message)
                                .hint_some(hint);
                        }
                    }
                }
            }
            NodeKind::Scalar(_) | NodeKind::Sequence(_) => file = Some(item),
        }
        let Some(node) = file else {
            let message = "`file` is missing in `include`".to_owned();
            self.error("missing-key", &item.place, message, "write it like `file: shop.yaml`");
            return None;
        };
        let Some(name) = node.text().filter(|name| !node.is_null() && !name.is_empty()) else {
            let message = format!("expected a file's name, found {}", node.described());
            self.error("wrong-kind", &node.place, message, "write it like `include: shop.yaml`");
            return None;
        };
        if name.contains("${") {
            let message = "the name of an included file cannot depend on parameters".to_owned();
            let hint = "files are included before parameters have values: write the name out";
            self.error("not-constant", &node.place, message, hint);
            return None;
        }
        Some(Wanted { file: name.to_owned(), place: node.place.clone(), with })
    }

    fn file(&mut self, wanted: Wanted) {
        let Wanted { file, place, with } = wanted;
        let shown = self.folder.join(&file);
        let path = normal(&shown);
        if self.open.contains(&path) {
            let message = format!("`{file}` includes itself");
            self.error("include-cycle", &place, message, "leave one of these includes out");
            return;
        }
        if self.known.contains(&path) {
            if let Some(first) = with.first() {
                let message =
                    format!("`{file}` is included already, and has one set of parameters");
                let hint = "give the parameters where it is included first";
                self.error("include-twice", &first.key_place, message, hint);
            }
            return;
        }
        // The first open one is the scenario itself.
        if self.known.len() == FILES_MAX || self.open.len() > DEPTH_MAX {
            let message = format!("`{file}` is one file too many");
            let hint = "a scenario includes at most 64 files, each at most 8 deep";
            self.error("include-limit", &place, message, hint);
            return;
        }
        self.known.push(path.clone());
        let text = match (self.settings.files)(&file) {
            Ok(text) => text,
            Err(reason) => {
                let message = format!("`{file}` cannot be read: {reason}");
                self.diagnostics.error("no-file", &place, message);
                return;
            }
        };
        let too_large = format!("with `{file}` the scenario is too large");
        let limits = "all its files have at most 4 MiB and 100,000 values together";
        if text.len() >= self.bytes_left {
            self.error("include-limit", &place, too_large, limits);
            return;
        }
        self.bytes_left -= text.len() + 1;
        let start = self.diagnostics.include(shown.to_string_lossy().into_owned(), &text);
        let tree = yaml::parse_at(&text, start, self.diagnostics);
        self.included.push(Included { name: file.clone(), start, text: text.into() });
        let Some(tree) = tree else {
            return;
        };
        let size = yaml::size(&tree);
        if size > self.values_left {
            self.error("include-limit", &place, too_large, limits);
            return;
        }
        self.values_left -= size;
        self.open.push(path);
        self.add(tree, &file, with);
        self.open.pop();
    }

    /// Puts what a file has into the scenario, and then what the file itself includes.
    fn add(&mut self, tree: Node, file: &str, mut with: Vec<Entry>) {
        let Node { place, kind } = tree;
        let NodeKind::Mapping(entries) = kind else {
            let message = format!("`{file}` is no part of a scenario");
            let hint = format!("it is a mapping with some of these keys: {}", KEYS.join(", "));
            self.error("wrong-kind", &place, message, &hint);
            return;
        };
        let mut nested = None;
        for entry in entries {
            match entry.key.as_str() {
                "include" => nested = Some(entry.value).filter(|node| !node.is_null()),
                "params" => self.params(entry.value, &mut with),
                "messages" | "metrics" | "data" | "sessions" => self.add_named(entry),
                "script" | "thresholds" => self.add_listed(entry),
                key => {
                    let message = format!("`{key}` cannot be included");
                    let hint = suggest::nearest(key, KEYS).map_or_else(
                        || format!("write it in the scenario; a file has {}", KEYS.join(", ")),
                        |near| format!("did you mean `{near}`?"),
                    );
                    self.error("unknown-key", &entry.key_place, message, &hint);
                }
            }
        }
        for value in with {
            let message = format!("`{file}` has no parameter `{}`", value.key);
            let hint = "a parameter stands with its default under `params` of that file";
            self.error("unknown-param", &value.key_place, message, hint);
        }
        if let Some(node) = nested {
            self.include(&node);
        }
    }

    /// Parameters: a value that is given with `with` holds, or that of the scenario, or else the file's own.
    fn params(&mut self, node: Node, with: &mut Vec<Entry>) {
        let Some(NodeKind::Mapping(params)) = self.kind_of_named(node) else {
            return;
        };
        for param in params {
            let given = with.iter().position(|value| value.key == param.key);
            let given = given.map(|at| with.remove(at));
            let known = self.root.iter().find(|entry| entry.key == "params");
            let first = known.and_then(|params| {
                let mut known = params.value.mapping().unwrap_or_default().iter();
                known.find(|known| known.key == param.key).map(|known| known.key_place.clone())
            });
            match first {
                Some(first) => {
                    let is_own = self.diagnostics.included_at(first.span.start).is_none();
                    if given.is_some() || !is_own {
                        let place = given.map_or(param.key_place, |given| given.key_place);
                        self.twice("parameter", &param.key, &place, &first);
                    }
                }
                None => {
                    let Entry { key, key_place, value } = param;
                    let value = given.map_or(value, |given| given.value);
                    if let Some(known) = self.named("params", &key_place) {
                        known.push(Entry { key, key_place, value });
                    }
                }
            }
        }
    }

    /// Pairs by names of the author: each name stands once in all files.
    fn add_named(&mut self, entry: Entry) {
        let Entry { key, key_place, value } = entry;
        let Some(NodeKind::Mapping(items)) = self.kind_of_named(value) else {
            return;
        };
        let what = match key.as_str() {
            "sessions" => "session",
            "messages" => "message",
            "metrics" => "metric",
            _ => "data file",
        };
        for item in items {
            // What is no mapping is reported when the scenario is checked.
            let Some(known) = self.named(&key, &key_place) else {
                return;
            };
            let first = known.iter().find(|known| known.key == item.key);
            match first.map(|first| first.key_place.clone()) {
                Some(first) => self.twice(what, &item.key, &item.key_place, &first),
                None => known.push(item),
            }
        }
    }

    /// Items of a list.
    fn add_listed(&mut self, entry: Entry) {
        let Entry { key, key_place, value } = entry;
        if value.is_null() {
            return;
        }
        let place = value.place.clone();
        let items = match value.kind {
            NodeKind::Sequence(items) => items,
            kind @ (NodeKind::Scalar(_) | NodeKind::Mapping(_)) => vec![Node { place, kind }],
        };
        let target = self.entry(&key, &key_place);
        if target.sequence().is_none() {
            let first = target.clone();
            let known = if first.is_null() { Vec::new() } else { vec![first] };
            target.kind = NodeKind::Sequence(known);
        }
        if let NodeKind::Sequence(known) = &mut target.kind {
            known.extend(items);
        }
    }

    /// The value of a key that has names; reports it if it has none. Nothing written is an empty mapping.
    fn kind_of_named(&mut self, node: Node) -> Option<NodeKind> {
        if node.is_null() {
            return None;
        }
        if node.mapping().is_none() {
            let message = format!("expected a mapping of names, found {}", node.described());
            self.diagnostics.error("wrong-kind", &node.place, message);
            return None;
        }
        Some(node.kind)
    }

    /// The pairs of a key of the scenario, which is made where there is none; `None`: it is no mapping.
    fn named(&mut self, key: &str, key_place: &Place) -> Option<&mut Vec<Entry>> {
        let target = self.entry(key, key_place);
        if target.is_null() {
            target.kind = NodeKind::Mapping(Vec::new());
        }
        match &mut target.kind {
            NodeKind::Mapping(entries) => Some(entries),
            NodeKind::Scalar(_) | NodeKind::Sequence(_) => None,
        }
    }

    /// The value of a key of the scenario, which is made where there is none.
    fn entry(&mut self, key: &str, key_place: &Place) -> &mut Node {
        let at = self.root.iter().position(|entry| entry.key == key);
        let at = at.unwrap_or_else(|| {
            let kind = match key {
                "script" | "thresholds" => NodeKind::Sequence(Vec::new()),
                _ => NodeKind::Mapping(Vec::new()),
            };
            let value = Node { place: key_place.clone(), kind };
            let key_place = key_place.clone();
            self.root.push(Entry { key: key.to_owned(), key_place, value });
            self.root.len() - 1
        });
        &mut self.root[at].value
    }

    fn twice(&mut self, what: &str, name: &str, place: &Place, first: &Place) {
        let line = self.diagnostics.line(first.span.start);
        let file = match self.diagnostics.included_at(first.span.start) {
            Some(file) => file.name.clone(),
            None => "the scenario".to_owned(),
        };
        let message = format!("the {what} `{name}` is given twice");
        let hint = format!("it is first given in line {line} of {file}");
        self.diagnostics.error("duplicate-key", place, message).label("again").hint(hint);
    }
}

/// A path without `.` and without a folder that the next part leaves again.
fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(found.components().next_back(), Some(Component::Normal(_))) =>
            {
                found.pop();
            }
            part => found.push(part),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_name() {
        for (written, expected) in [
            ("a.yaml", "a.yaml"),
            ("./a/./b.yaml", "a/b.yaml"),
            ("a/../b.yaml", "b.yaml"),
            ("../a/../b.yaml", "../b.yaml"),
            ("../../a.yaml", "../../a.yaml"),
            ("/a/../b.yaml", "/b.yaml"),
        ] {
            assert_eq!(normal(Path::new(written)), Path::new(expected), "{written}");
        }
    }
}
