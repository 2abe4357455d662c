//! The types of the documents in TypeScript, `web/src/document`: written from those that are serialised, so
//! that the page cannot misunderstand them.
//!
//! `UPDATE=1 cargo test -p report --features full` writes the files anew. A field that may be left out must
//! say `#[serde(default, skip_serializing_if = …)]`, with both: then it has a `?`.

use std::any::TypeId;
use std::path::Path;

use ts_rs::{Config, TS, TypeVisitor};

use super::capacity::{CapacityDocument, SweepDocument};
use super::comparison::ComparisonDocument;
use super::duet::DuetDocument;
use super::experiment::ExperimentDocument;
use super::index::{IndexDocument, TrendDocument};
use super::meters::MetersDocument;
use super::run::RunDocument;
use super::{Content, Head};
use crate::model::page::ModelDocument;

const HEADER: &str = "// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: \
                      do not edit.\n";

/// A type as it stands in a file.
struct Declaration {
    id: TypeId,
    /// The file's number.
    file: usize,
    name: String,
    text: String,
    /// The types that it names.
    uses: Vec<TypeId>,
}

/// All files, and what stands in them.
struct Files {
    config: Config,
    names: Vec<&'static str>,
    declarations: Vec<Declaration>,
}

impl Files {
    /// A file with a document, and with the types of it that no earlier file has.
    fn add<T: Content + TS + 'static>(&mut self, name: &'static str, document: &str) {
        self.names.push(name);
        let uses = self.used_by::<T>();
        let config = &self.config;
        let kind = format!(
            "{{ \n/**\n * The kind of result, which decides how it is drawn.\n */\nkind: \"{}\", }}",
            T::KIND
        );
        let fields = [kind, Head::inline_flattened(config), T::inline_flattened(config)];
        let fields = fields.join(" & ").replace(" } & { ", " ");
        let text = format!("type {document} = {fields};");
        self.declare::<T>(document.to_owned(), &text, uses);
    }

    /// The types that `T` names, declared where they are not yet.
    fn used_by<T: TS + 'static + ?Sized>(&mut self) -> Vec<TypeId> {
        let mut uses = Uses { files: self, found: Vec::new() };
        T::visit_dependencies(&mut uses);
        uses.found
    }

    fn declare<T: TS + 'static + ?Sized>(&mut self, name: String, text: &str, uses: Vec<TypeId>) {
        let docs = T::docs().unwrap_or_default();
        self.declarations.push(Declaration {
            id: TypeId::of::<T>(),
            file: self.names.len() - 1,
            name,
            text: laid_out(&format!("{docs}export {text}")),
            uses,
        });
    }

    fn declared(&self, id: TypeId) -> &Declaration {
        let found = self.declarations.iter().find(|known| known.id == id);
        found.expect("what is used was declared")
    }

    /// The text of a file, its types by name: the order in which one names others changes with each build.
    fn text(&self, file: usize) -> String {
        let all = self.declarations.iter();
        let mut own: Vec<&Declaration> = all.filter(|known| known.file == file).collect();
        own.sort_unstable_by_key(|declaration| &declaration.name);
        let uses = own.iter().flat_map(|declaration| &declaration.uses);
        let mut imported: Vec<(&str, &str)> = uses
            .map(|id| self.declared(*id))
            .filter(|used| used.file != file)
            .map(|used| (self.names[used.file], used.name.as_str()))
            .collect();
        imported.sort_unstable();
        imported.dedup();

        let mut names: Vec<&str> = own.iter().map(|known| known.name.as_str()).collect();
        names.extend(imported.iter().map(|(_, name)| name));
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "two types of one name in {}", self.names[file]);

        let mut out = HEADER.to_owned();
        for same_file in imported.chunk_by(|one, other| one.0 == other.0) {
            let names: Vec<&str> = same_file.iter().map(|(_, name)| *name).collect();
            let from = same_file[0].0;
            out += &format!("\nimport type {{ {} }} from './{from}';\n", names.join(", "));
        }
        for declaration in own {
            out.push('\n');
            out += &declaration.text;
        }
        out
    }
}

struct Uses<'a> {
    files: &'a mut Files,
    found: Vec<TypeId>,
}

impl TypeVisitor for Uses<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Types of TypeScript's own have no file.
        if T::output_path().is_none() {
            return;
        }
        let name = T::ident(&self.files.config);
        // `Number` has this name.
        if name == "number" {
            return;
        }
        let id = TypeId::of::<T>();
        self.found.push(id);
        if self.files.declarations.iter().all(|known| known.id != id) {
            let uses = self.files.used_by::<T>();
            let text = T::decl(&self.files.config);
            self.files.declare::<T>(name, &text, uses);
        }
    }
}

/// The declaration with a line for each field, and its documentation in the words of TypeScript.
fn laid_out(text: &str) -> String {
    let text = text.replace("{ [key in string]: ", "Record<string, ");
    let mut out = String::new();
    let mut rest = text.as_str();
    // The bracket that closes each one that is open.
    let mut open: Vec<char> = Vec::new();
    let line = |out: &mut String, depth: usize| {
        out.truncate(out.trim_end().len());
        out.push('\n');
        *out += &"  ".repeat(depth);
    };
    while let Some(next) = rest.chars().next() {
        if let Some((docs, after)) = rest.strip_prefix("/**").and_then(|rest| rest.split_once("*/"))
        {
            let indent = "  ".repeat(open.len());
            out += &documentation(docs, &indent);
            out += &indent;
            rest = after.trim_start();
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '"' => out.push('\''),
            '{' => {
                open.push('}');
                out.push('{');
                line(&mut out, open.len());
                rest = rest.trim_start();
            }
            '}' if open.last() == Some(&'}') => {
                open.pop();
                line(&mut out, open.len());
                out.push('}');
            }
            // The end of what was a mapped type.
            '}' => {
                open.pop();
                out.truncate(out.trim_end().len());
                out.push('>');
            }
            ',' if open.last() == Some(&'}') => {
                out.push(';');
                line(&mut out, open.len());
                rest = rest.trim_start();
            }
            '[' | '<' | '(' => {
                open.push(next);
                out.push(next);
            }
            ']' | '>' | ')' => {
                open.pop();
                out.push(next);
            }
            '\n' => {}
            other => out.push(other),
        }
    }
    out.push('\n');
    out
}

/// A comment of its own lines.
fn documentation(docs: &str, indent: &str) -> String {
    let lines = docs.lines().map(|line| line.trim().trim_start_matches('*'));
    let lines: Vec<String> = lines
        .map(|line| {
            let line = line.trim().replace("[`", "`").replace("`]", "`");
            line.replace("`None`", "`null`").replace("`Some`", "a value")
        })
        .skip_while(String::is_empty)
        .collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |n| n + 1);
    match &lines[..end] {
        [] => String::new(),
        [line] => format!("/** {line} */\n"),
        lines => {
            let lines = lines.iter().map(|line| format!("{indent} * {line}"));
            let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
            format!("/**\n{}\n{indent} */\n", lines.join("\n"))
        }
    }
}

#[test]
fn the_page_knows_the_types_of_its_documents() {
    let mut files = Files {
        config: Config::new().with_large_int("number"),
        names: Vec::new(),
        declarations: Vec::new(),
    };
    files.add::<RunDocument<'static>>("run", "RunDocument");
    files.add::<ComparisonDocument<'static>>("comparison", "ComparisonDocument");
    files.add::<DuetDocument<'static>>("duet", "DuetDocument");
    files.add::<CapacityDocument<'static>>("capacity", "CapacityDocument");
    files.add::<SweepDocument<'static>>("sweep", "SweepDocument");
    files.add::<ExperimentDocument<'static>>("experiment", "ExperimentDocument");
    files.add::<MetersDocument<'static>>("meters", "MetersDocument");
    files.add::<IndexDocument<'static>>("results", "IndexDocument");
    files.add::<TrendDocument<'static>>("trend", "TrendDocument");
    files.add::<ModelDocument<'static>>("model", "ModelDocument");

    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder =
        above.find_map(|above| Some(above.join("web/src/document")).filter(|f| f.is_dir()));
    let folder = folder.unwrap();
    let mut stale = Vec::new();
    for (number, name) in files.names.iter().enumerate() {
        let path = folder.join(name).with_extension("ts");
        let text = files.text(number);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, text).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            stale.push(path);
        }
    }
    assert!(
        stale.is_empty(),
        "run UPDATE=1 cargo test -p report --features full: {stale:?} are not what the types say"
    );
}
