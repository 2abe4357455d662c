//! Imports within a crate: folders must not import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Punct, Spacing, TokenStream, TokenTree};

use super::none;
use super::sources::{SOURCES, Source};

/// A module as the path from its crate's root.
type Module = Vec<String>;

/// The module that a file holds.
fn module_of(source: &Source) -> Option<Module> {
    let (_, path) = source.path.split_once("/src/")?;
    let path = path.strip_suffix(".rs")?;
    let parts = path.split('/').map(str::to_owned);
    Some(parts.filter(|part| part != "lib" && part != "main").collect())
}

fn tokens_of(source: &Source) -> TokenStream {
    source.code.parse().unwrap_or_else(|error| panic!("{}: {error}", source.path))
}

fn is_joint(punct: &Punct) -> bool {
    punct.spacing() == Spacing::Joint
}

/// Collects the paths that begin with `crate` or `super`, in `use` items and elsewhere.
fn paths(tokens: TokenStream, prefix: &[String], is_use: bool, found: &mut Vec<Vec<String>>) {
    let mut path: Vec<String> = prefix.to_vec();
    let mut joined = true;
    let mut in_use = is_use;
    let mut colon = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                if !joined {
                    found.push(std::mem::replace(&mut path, prefix.to_vec()));
                }
                in_use |= name == "use";
                if name == "use" || name == "pub" {
                    path = Vec::new();
                    joined = true;
                    continue;
                }
                path.push(name);
                joined = false;
            }
            // Two colons join; the first of them is marked as joint.
            TokenTree::Punct(punct) if punct.as_char() == ':' && (is_joint(&punct) || colon) => {
                colon = is_joint(&punct);
                joined = true;
                continue;
            }
            TokenTree::Punct(punct) => {
                found.push(std::mem::replace(&mut path, prefix.to_vec()));
                in_use = is_use || in_use && punct.as_char() != ';';
                joined = true;
            }
            TokenTree::Group(group) => {
                let is_tree = in_use && group.delimiter() == Delimiter::Brace;
                if is_tree {
                    paths(group.stream(), &path, true, found);
                } else {
                    found.push(std::mem::replace(&mut path, prefix.to_vec()));
                    paths(group.stream(), &[], false, found);
                }
                path = prefix.to_vec();
                joined = true;
            }
            TokenTree::Literal(_) => {}
        }
    }
    found.push(path);
}

/// The paths of the `use` items of a file.
fn uses(tokens: TokenStream) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut item: Option<Vec<TokenTree>> = None;
    for token in tokens {
        match &mut item {
            None if matches!(&token, TokenTree::Ident(ident) if ident == "use") => {
                item = Some(vec![token]);
            }
            None => {}
            Some(_) if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';') => {
                let tokens = item.take().unwrap_or_default();
                paths(tokens.into_iter().collect(), &[], true, &mut found);
            }
            Some(tokens) => tokens.push(token),
        }
    }
    found
}

/// A path within `from` as one from the crate's root; `None` if it leads to another crate.
fn absolute(from: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Vec<String>> {
    let first = path.first()?.as_str();
    let mut absolute = match first {
        "crate" => Vec::new(),
        "super" | "self" => from.clone(),
        child => {
            let below = [&from[..], &[child.to_owned()]].concat();
            return modules.contains(&below).then(|| [&from[..], path].concat());
        }
    };
    for part in path {
        match part.as_str() {
            "crate" | "self" => {}
            "super" => {
                absolute.pop();
            }
            name => absolute.push(name.to_owned()),
        }
    }
    Some(absolute)
}

/// Where modules have the names that they import from elsewhere in the crate: (module, name) to path.
type Imported = BTreeMap<(Module, String), Vec<String>>;

/// How often one import may lead to another.
const IMPORTS_IN_A_ROW_MAX: usize = 8;

/// The module in which the last name of a path is, imports followed.
fn target(path: Vec<String>, modules: &BTreeSet<Module>, imported: &Imported) -> Option<Module> {
    let mut path = path;
    for _ in 0..IMPORTS_IN_A_ROW_MAX {
        let mut module = path.clone();
        while !modules.contains(&module) {
            module.pop()?;
        }
        let Some(name) = path.get(module.len()) else {
            return Some(module);
        };
        match imported.get(&(module.clone(), name.clone())) {
            Some(elsewhere) => {
                path = [&elsewhere[..], &path[module.len() + 1..]].concat();
            }
            None => return Some(module),
        }
    }
    None
}

/// The imports of all files of a crate.
fn imported(files: &[(Module, TokenStream)], modules: &BTreeSet<Module>) -> Imported {
    let mut imported = Imported::new();
    for (module, tokens) in files {
        for mut path in uses(tokens.clone()) {
            if path.last().is_some_and(|name| name == "self") {
                path.pop();
            }
            let (Some(name), Some(elsewhere)) = (path.last(), absolute(module, &path, modules))
            else {
                continue;
            };
            if elsewhere != [&module[..], std::slice::from_ref(name)].concat() {
                imported.insert((module.clone(), name.clone()), elsewhere);
            }
        }
    }
    imported
}

/// Which children of one module import which others, by name.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn reachable<'g>(graph: &'g Graph, from: &'g str) -> BTreeSet<&'g str> {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(next) = left.pop() {
        for to in graph.get(next).into_iter().flatten() {
            if seen.insert(to.as_str()) {
                left.push(to);
            }
        }
    }
    seen
}

/// By parent: the imports among its children, each with everything below it.
fn graphs(files: &[(Module, TokenStream)]) -> BTreeMap<Module, Graph> {
    let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let imported = imported(files, &modules);
    let mut graphs: BTreeMap<Module, Graph> = BTreeMap::new();
    for (module, tokens) in files {
        let mut found = Vec::new();
        paths(tokens.clone(), &[], false, &mut found);
        for path in found {
            let Some(path) = absolute(module, &path, &modules) else {
                continue;
            };
            let Some(target) = target(path, &modules, &imported) else {
                continue;
            };
            let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if shared < module.len() && shared < target.len() {
                let graph = graphs.entry(module[..shared].to_vec()).or_default();
                let imports = graph.entry(module[shared].clone()).or_default();
                imports.insert(target[shared].clone());
            }
        }
    }
    graphs
}

/// Circles that are meant: each protocol stands in one file, with what a connection remembers of it and with what the
/// interpreter does in it. To divide them would make a protocol several places.
const CIRCLES_MEANT: &[&str] =
    &["engine: conn, interpreter, protocols", "engine::protocols: channels, mqtt"];

#[test]
fn folders_do_not_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    let crates: BTreeSet<&str> = SOURCES.iter().map(|source| source.krate.as_str()).collect();
    for krate in crates {
        let sources = SOURCES.iter().filter(|s| s.krate == krate && !s.is_test);
        let files: Vec<_> =
            sources.filter_map(|source| Some((module_of(source)?, tokens_of(source)))).collect();
        for (parent, graph) in graphs(&files) {
            let is_folder = |child: &str| {
                files.iter().any(|(module, _)| {
                    module.len() > parent.len() + 1
                        && module.starts_with(&parent)
                        && module[parent.len()] == child
                })
            };
            let back: Vec<&String> = graph
                .keys()
                .filter(|child| reachable(&graph, child).contains(child.as_str()))
                .collect();
            if back.iter().any(|child| is_folder(child)) {
                let names: Vec<&str> = back.iter().map(|name| name.as_str()).collect();
                let place = [&[krate.to_owned()][..], &parent].concat().join("::");
                found.push(format!("{place}: {}", names.join(", ")));
            }
        }
    }
    found.retain(|circle| !CIRCLES_MEANT.contains(&&**circle));
    none(
        "modules in different folders that import each other in a circle",
        "Move what they share into a module of its own that imports neither.",
        &found,
    );
}

#[test]
fn paths_are_found_in_imports_and_in_code() {
    let text =
        "use crate::a::{b::C, d}; use super::e; fn f(x: crate::g::H) { super::i::j(1); k() }";
    let mut found = Vec::new();
    paths(text.parse().unwrap(), &[], false, &mut found);
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    for path in ["crate::a::b::C", "crate::a::d", "super::e", "crate::g::H", "super::i::j"] {
        assert!(found.iter().any(|f| f == path), "{path} is not in {found:?}");
    }
}

#[test]
fn imports_are_followed_through_other_modules() {
    let files = [
        ("", "mod dir; mod rows; pub use dir::Dir; pub use rows::file::{Rows, self};"),
        ("dir", "use crate::Rows;"),
        ("rows", "pub mod file; use super::dir;"),
        ("rows::file", "use crate::Dir;"),
    ];
    let files = files.map(|(module, text)| {
        let parts = module.split("::").filter(|part| !part.is_empty());
        (parts.map(str::to_owned).collect::<Module>(), text.parse().unwrap())
    });
    let graph = &graphs(&files)[&Module::new()];
    assert!(graph["dir"].contains("rows"), "{graph:?}");
    assert!(graph["rows"].contains("dir"), "{graph:?}");
    assert!(reachable(graph, "dir").contains("dir"), "{graph:?}");
}
