//! A scenario's JavaScript: the file of functions, and steps.

use std::sync::Arc;

use plan::expr::Expr;
use plan::{Op, Script, ScriptFile, ScriptOp, ScriptStep};
use units::parse::{self, UnitError};

use super::Checker;
use super::fields::Fields;
use super::files::File;
use super::names::Names;
use super::program::Program;
use crate::document::node::{Node, Place};
use crate::expression::{Scope, is_function, is_name, reserved_as};

/// Longest time of a call, in nanoseconds.
const TIME_NS_MAX: u64 = 10_000_000_000;
/// Least memory of a loop's scripts: what QuickJS needs itself, and something to work with.
const MEMORY_BYTES_MIN: u64 = 2 << 20;
/// Most memory.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Largest text of a step, in bytes.
const STEP_BYTES_MAX: usize = 64 << 10;

impl Checker<'_> {
    /// Compiles the limits of scripts in `options`.
    pub(super) fn script_limits(&mut self, fields: &Fields<'_>) {
        let time_ns = self.option_ns(fields, "script_time_max");
        if let Some(place) = fields.key_place("script_time_max")
            && time_ns > TIME_NS_MAX
        {
            self.diagnostics
                .error("bad-duration", place, "a loop would serve nobody else for all of this time")
                .hint("write at most 10s; what takes longer is no part of a load test");
        }
        let code = "bad-size";
        let what = "a size";
        let memory = fields.get_or_default("script_memory_max");
        let memory = memory.and_then(|node| {
            self.unit(&node, code, what, |text| match parse::size(text)? {
                bytes @ MEMORY_BYTES_MIN..=MEMORY_BYTES_MAX => Ok(bytes),
                _ => Err(UnitError {
                    message: format!("`{text}` is out of range"),
                    hint: "write 2MiB to 1GiB".to_owned(),
                }),
            })
        });
        let memory_bytes = memory.unwrap_or(MEMORY_BYTES_MIN) as usize;
        self.scripts.get_mut().limit(time_ns, memory_bytes);
    }

    /// `script`: reads the files, and the names of their functions.
    pub(super) fn script_files(&mut self, node: &Node) {
        self.scripts.get_mut().break_down();
        let nodes = self.one_or_more(node);
        if nodes.is_empty() {
            return self.expected(node, "a file's name, or several");
        }
        let files: Vec<File> = nodes.iter().filter_map(|node| self.file(node)).collect();
        let Some(first) = files.first().filter(|_| files.len() == nodes.len()) else {
            return;
        };
        if let Some(again) = repeated(&files) {
            let message = format!("the script `{}` is given twice", again.name);
            self.diagnostics.error("bad-script", &again.place, message).label("again");
            return;
        }
        let texts = files.iter();
        let texts = texts
            .map(|file| ScriptFile { name: file.name.clone(), text: file.text.as_str().into() });
        let read = self.settings.files;
        let names = match self.scripts.get_mut().load(texts.collect(), read) {
            Ok(names) => names.to_vec(),
            Err(problem) => {
                let in_file = files.iter().find(|file| Some(&file.name) == problem.file.as_ref());
                // A module that another one imports has no place in the scenario.
                let place = &in_file.unwrap_or(first).place;
                let name = problem.file.as_ref().unwrap_or(&first.name);
                let at = problem.place.map(|(line, column)| format!(":{line}:{column}"));
                let message = format!("{name}{}: {}", at.unwrap_or_default(), problem.message);
                self.diagnostics.error("bad-script", place, message).hint(problem.hint);
                return;
            }
        };
        let place = &first.place;
        for name in names.iter().filter(|name| is_function(name)) {
            let message = format!(
                "the script's function `{name}` has the name of a function that expressions have"
            );
            self.diagnostics.error("bad-script", place, message).hint("give it another name");
        }
        for (name, (meaning, _)) in names.iter().filter_map(|name| Some((name, reserved_as(name)?)))
        {
            let message = format!("the script's function `{name}` cannot be called: {meaning}");
            self.diagnostics.error("bad-script", place, message).hint("give it another name");
        }
    }

    /// A step in JavaScript.
    pub(super) fn js_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let Some(text) = node.text().filter(|_| !node.is_null()) else {
            return self.expected(node, "JavaScript (`js: |` and lines below)");
        };
        if text.len() > STEP_BYTES_MAX {
            self.diagnostics
                .error("bad-script", &node.place, "the text of this step is too long")
                .hint("a step has at most 64 KiB; write functions in the file of `script`");
            return;
        }
        let read = self.variables_in(text, program);
        let mut outputs = Vec::new();
        let mut slots = Vec::new();
        for item in fields.get("sets").map_or(&[][..], |node| self.one_or_more(node)) {
            let Some(word) = self.word(item, "a variable's name") else {
                continue;
            };
            self.note_computed(&word.text, text);
            let slot = self.variable(&word.text, &word.place, program);
            if let Some(slot) = slot.filter(|_| !outputs.contains(&word.text)) {
                slots.push(slot);
                outputs.push(word.text);
            }
        }
        let included = self.diagnostics.included_at(node.place.span.start);
        let included = included.filter(|_| node.place.set.is_none()).cloned();
        let file_start = included.as_ref().map_or(0, |file| file.start);
        let source = match &included {
            Some(file) => &*file.text,
            None => self.diagnostics.text(),
        };
        let at = node.place.set.is_none().then(|| node.place.span.start - file_start);
        let start = at.and_then(|at| start_of(text, source, at));
        let (names, inputs) = read.into_iter().unzip();
        let step = ScriptStep {
            text: text.into(),
            file: included.as_ref().map(|file| file.name.clone()),
            line: start.map_or(1, |start| start.line),
            inputs: names,
            outputs,
        };
        match self.scripts.get_mut().step(step) {
            Ok(number) => {
                program.push(Op::Script(Box::new(ScriptOp {
                    step: number,
                    inputs,
                    outputs: slots,
                })));
            }
            Err(problem) => {
                let there = start.zip(problem.place).and_then(|(start, (line, column))| {
                    start.place(source, line, column, file_start)
                });
                let place = there.unwrap_or_else(|| node.place.clone());
                self.diagnostics.error("bad-script", &place, problem.message).hint(problem.hint);
            }
        }
    }

    /// The variables and parameters whose names are words of a text, and what they mean here.
    fn variables_in(&self, text: &str, program: &Program) -> Vec<(String, Expr)> {
        let scope = Names::new(self, Some(&program.slot_names));
        let mut found: Vec<(String, Expr)> = Vec::new();
        for name in scope.names() {
            let is_new = found.iter().all(|(known, _)| known != name);
            if is_new && is_name(name) && has_word(text, name) {
                found.extend(scope.lookup(name).map(|expr| (name.to_owned(), expr)));
            }
        }
        for (name, expr) in [("user", Expr::User), ("iteration", Expr::Iteration)] {
            if has_word(text, name) {
                found.push((name.to_owned(), expr));
            }
        }
        found
    }

    /// The script that the loops load; `None`: nothing calls it.
    pub(super) fn finish_scripts(&mut self) -> Option<Arc<Script>> {
        self.scripts.take().finish().map(Arc::new)
    }
}

/// The first file that is named a second time.
fn repeated(files: &[File]) -> Option<&File> {
    let named_before =
        |(at, file): &(usize, &File)| files[..*at].iter().any(|before| before.name == file.name);
    files.iter().enumerate().find(named_before).map(|(_, file)| file)
}

/// Whether a name stands in a text as a word.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The place in the scenario at which a step's text begins.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// The text's first line, from 1.
    line: u32,
    /// Bytes before each of its lines.
    indent: usize,
}

/// Where a step's text begins whose value begins at a byte of its file; `None`: the source does not show its lines, as of
/// a text in quotes.
fn start_of(text: &str, source: &str, at: usize) -> Option<Start> {
    let first = text.lines().next().filter(|line| !line.trim().is_empty())?;
    let at = at + source.get(at..)?.find(first)?;
    let line_start = source[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = source[..at].matches('\n').count() + 1;
    Some(Start { line: u32::try_from(line).ok()?, indent: at - line_start })
}

impl Start {
    /// The bytes at a line of the file, which begins at `file_start` of all texts, and a column of the step's text.
    fn place(self, source: &str, line: u32, column: u32, file_start: usize) -> Option<Place> {
        let line = usize::try_from(line).ok()?.checked_sub(1)?;
        let whole = source.split_inclusive('\n').nth(line)?;
        let line_start = whole.as_ptr() as usize - source.as_ptr() as usize;
        let shown = whole.trim_end();
        let column = usize::try_from(column).ok()?.saturating_sub(1);
        let mut at = (self.indent + column).min(shown.len().saturating_sub(1));
        while !shown.is_char_boundary(at) {
            at -= 1;
        }
        let length = shown[at..].chars().next().map_or(0, char::len_utf8);
        let start = file_start + line_start + at;
        Some(Place::at(start..start + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_begins_where_the_source_shows_it() {
        let source = "a:\n  - js: |\n      let x = 1;\n      retrun x;\n";
        let text = "let x = 1;\nretrun x;\n";
        let start = start_of(text, source, 11).unwrap();
        assert_eq!((start.line, start.indent), (3, 6));
        let place = start.place(source, 4, 8, 0).unwrap();
        assert_eq!(&source[place.span], "x");
        let beyond = start.place(source, 4, 99, 0).unwrap();
        assert_eq!(&source[beyond.span], ";");
        assert!(start.place(source, 9, 1, 0).is_none());
    }

    #[test]
    fn names_are_words() {
        assert!(has_word("return vars.a + 1", "a"));
        assert!(!has_word("return vars.ab + $a", "a"));
    }
}
