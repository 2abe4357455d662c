//! `file_server` and the variables that are read of files, line by line.

use std::ops::Range;

use roxmltree::Node;

use super::attributes::value_at;
use super::variables::sound;
use super::{Importer, Item, Map, opening};
use crate::template::literal;

/// The files that the options name, and how steps read them.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Their ids and paths.
    named: Vec<(String, String, Range<usize>)>,
    read: Vec<Lines>,
}

/// One way of reading a file's lines: an entry of the scenario's `data`.
#[derive(Debug)]
struct Lines {
    name: String,
    /// The place of the file among those named.
    file: usize,
    is_random: bool,
    separator: String,
    /// How many cells of a line are wanted at most.
    columns: usize,
}

impl Files {
    /// The scenario's `data`, if there are any.
    pub(super) fn written(&self, at: Range<usize>) -> Option<Map> {
        let mut data = Map::new(at);
        for lines in &self.read {
            let (_, path, at) = &self.named[lines.file];
            let columns = (1..=lines.columns).map(|number| format!("\"{number}\""));
            let columns = columns.collect::<Vec<_>>().join(", ");
            let mut entry = Map::single(at.clone(), "file", Item::Text(literal(path)))
                .with("format", Item::Bare("plain".to_owned()))
                .with("separator", Item::Text(lines.separator.clone()))
                .with("columns", Item::Bare(format!("[{columns}]")));
            if lines.is_random {
                entry.put("order", Item::Bare("random".to_owned()));
            }
            data.put(&lines.name, Item::Map(entry));
        }
        (!data.entries.is_empty()).then_some(data)
    }
}

impl Importer<'_> {
    /// `option name="file_server"`.
    pub(super) fn file_server(&mut self, option: Node<'_, '_>) {
        let id = option.attribute("id").unwrap_or("default").to_owned();
        let at = value_at(option, "value");
        let Some(path) = self.required(option, "value") else {
            return;
        };
        if self.data.named.iter().any(|(known, ..)| *known == id) {
            let message = format!("two files have the id `{id}`");
            self.diagnostics.error("duplicate-name", value_at(option, "id"), message);
            return;
        }
        self.data.named.push((id, path.to_owned(), at));
    }

    /// The step that takes a line of a file for these variables.
    pub(super) fn feed_step(&mut self, node: Node<'_, '_>, names: &[String]) -> Option<Map> {
        let id = node.attribute("fileid").unwrap_or("default");
        let named = &self.data.named;
        let Some(file) = named.iter().position(|(known, ..)| known == id) else {
            let known = named.iter().map(|(known, ..)| known.as_str());
            let hint = scenario::document::suggest::hint(id, "the options name", known);
            let message = format!("no option names a file with the id `{id}`");
            self.diagnostics
                .error("unknown-file", value_at(node, "fileid"), message)
                .hint_some(hint);
            return None;
        };
        let separator = node.attribute("delimiter").unwrap_or(";").to_owned();
        let separator = if separator == "\t" { "tab".to_owned() } else { separator };
        if separator.chars().count() != 1 && separator != "tab" {
            let message = "cells must be separated by one character".to_owned();
            self.diagnostics.lost(value_at(node, "delimiter"), message);
            return None;
        }
        let is_random = self.word(node, "order", &["iter", "random"]) == Some("random");
        if !is_random {
            let message = "user n starts with line n; in Tsung each user takes the next line when it gets there";
            self.diagnostics.differs("lines", value_at(node, "order"), message);
        }
        let name = self.lines(file, is_random, separator, names.len());
        let mut columns = Map::new(opening(node));
        for (number, variable) in names.iter().enumerate() {
            columns.put(variable, Item::Text((number + 1).to_string()));
        }
        let step = Map::single(opening(node), "feed", Item::Text(name));
        Some(step.with("as", Item::Map(columns)))
    }

    /// The name of the entry under `data` that reads the file so.
    fn lines(&mut self, file: usize, is_random: bool, separator: String, columns: usize) -> String {
        let same = |lines: &&mut Lines| {
            (lines.file, lines.is_random, &lines.separator) == (file, is_random, &separator)
        };
        if let Some(lines) = self.data.read.iter_mut().find(same) {
            lines.columns = lines.columns.max(columns);
            return lines.name.clone();
        }
        let mut name = sound(&self.data.named[file].0);
        let mut number = 1;
        while self.data.read.iter().any(|lines| lines.name == name) {
            number += 1;
            name = format!("{}_{number}", sound(&self.data.named[file].0));
        }
        self.data.read.push(Lines { name: name.clone(), file, is_random, separator, columns });
        name
    }
}
