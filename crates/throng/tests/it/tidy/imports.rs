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
    Some(
        parts
            .filter(|part| part != "lib" && part != "main")
            .collect(),
    )
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

/// The module that a path within `from` names, as far as there is such a module.
fn target(from: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let mut target = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "super" | "self" => from.clone(),
        _ => return None,
    };
    for part in path {
        match part.as_str() {
            "crate" | "self" => {}
            "super" => {
                target.pop();
            }
            name => target.push(name.to_owned()),
        }
    }
    while !modules.contains(&target) {
        target.pop()?;
    }
    Some(target)
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
fn graphs(sources: &[(&Source, Module)]) -> BTreeMap<Module, Graph> {
    let modules: BTreeSet<Module> = sources.iter().map(|(_, module)| module.clone()).collect();
    let mut graphs: BTreeMap<Module, Graph> = BTreeMap::new();
    for (source, module) in sources {
        let tokens: TokenStream = source
            .code
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", source.path));
        let mut found = Vec::new();
        paths(tokens, &[], false, &mut found);
        for path in found {
            let Some(target) = target(module, &path, &modules) else {
                continue;
            };
            let shared = module
                .iter()
                .zip(&target)
                .take_while(|(a, b)| a == b)
                .count();
            if shared < module.len() && shared < target.len() {
                let graph = graphs.entry(module[..shared].to_vec()).or_default();
                let imports = graph.entry(module[shared].clone()).or_default();
                imports.insert(target[shared].clone());
            }
        }
    }
    graphs
}

#[test]
fn folders_do_not_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    let crates: BTreeSet<&str> = SOURCES.iter().map(|source| source.krate.as_str()).collect();
    for krate in crates {
        let sources = SOURCES.iter().filter(|s| s.krate == krate && !s.is_test);
        let sources: Vec<_> = sources.filter_map(|s| Some((s, module_of(s)?))).collect();
        for (parent, graph) in graphs(&sources) {
            let is_folder = |child: &str| {
                sources.iter().any(|(_, module)| {
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
    for path in [
        "crate::a::b::C",
        "crate::a::d",
        "super::e",
        "crate::g::H",
        "super::i::j",
    ] {
        assert!(
            found.iter().any(|f| f == path),
            "{path} is not in {found:?}"
        );
    }
}
