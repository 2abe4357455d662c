//! ECMAScript modules: which texts are modules, where their imports lead, and what they declare.
//!
//! A module keeps its names to itself. So each text gets one more line, by which the host evaluates words in its scope while
//! it is loaded, and finds what can be assigned there as it does in other texts. That line needs `eval`, which is there for
//! that moment alone.

mod code;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use plan::ScriptFile;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Module, Result};

use super::bindings::place;
use crate::calls::Fault;

/// How the modules are called that import by the names of the scenario.
const ROOT: &str = "throng:";
/// The function that each module gets.
pub(crate) const PROBE: &str = "__throng_probe";

/// Whether a file is a module: by its name, or by a line of code that begins with `import` or `export`.
pub(crate) fn is_module(file: &ScriptFile) -> bool {
    const WORDS: [&str; 2] = ["import", "export"];
    let begins = |line: &str, word: &str| {
        let rest = line.trim_start().strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with([' ', '\t', '{', '*', '"', '\'']))
    };
    file.name.ends_with(".mjs")
        // Most scripts have none of the words.
        || WORDS.iter().any(|&word| file.text.contains(word))
            && code::of(&file.text).lines().any(|line| WORDS.iter().any(|&word| begins(line, word)))
}

/// A file's name as other modules lead to it: `./a/../b.js` is `b.js`.
pub(crate) fn plain_name(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if !matches!(parts.last(), None | Some(&("" | ".."))) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The file that a module means by what it imports. The error says why it can be none.
fn resolve(base: &str, written: &str) -> std::result::Result<String, String> {
    if base.starts_with(ROOT) {
        return Ok(written.to_owned());
    }
    if !written.starts_with("./") && !written.starts_with("../") {
        return Err(format!(
            "`{written}` is no path of a file: write `./node_modules/{written}/FILE.js`, or where it is"
        ));
    }
    let folder = base.rfind('/').map_or("", |end| &base[..=end]);
    let name = plain_name(&format!("{folder}{written}"));
    match name == ".." || name.starts_with("../") && !base.starts_with("../") {
        true => Err(format!("`{written}` is outside of the scenario's folder")),
        false => Ok(name),
    }
}

/// A text that imports these files, and gives their namespaces as `m0`, `m1` and so on.
pub(crate) fn importing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (at, name) in names.enumerate() {
        text += &format!("import * as n{at} from {name:?};\nexport const m{at} = n{at};\n");
    }
    text
}

/// The name of a module with such a text.
pub(crate) fn root(of: &str) -> String {
    format!("{ROOT}{of}")
}

/// An import that leads to no text yet, or nowhere.
#[derive(Debug, Clone)]
pub(crate) struct Import {
    base: String,
    written: String,
    pub(crate) name: String,
}

impl Import {
    /// The fault of the import, at its place in the module that has it. `files`: all texts.
    pub(crate) fn fault<'a>(
        &self,
        message: String,
        files: impl IntoIterator<Item = &'a ScriptFile>,
    ) -> Fault {
        let file = files.into_iter().find(|file| plain_name(&file.name) == self.base);
        let quoted = ['"', '\''].map(|quote| format!("{quote}{}{quote}", self.written));
        let at = file.and_then(|file| quoted.iter().find_map(|text| file.text.find(text.as_str())));
        Fault {
            message,
            place: file.zip(at).and_then(|(file, at)| place(&file.text, at)),
            file: file.map(|file| file.name.clone()),
        }
    }
}

/// Imports that a look at modules has found.
#[derive(Debug, Default)]
pub(crate) struct FoundImports {
    /// Imports of files whose texts are not there yet.
    pub(crate) missing: Vec<Import>,
    /// The import that leads nowhere, and why.
    pub(crate) refused: Option<(Import, String)>,
}

/// Resolves imports, and notes what it finds.
pub(crate) struct Names {
    texts: Texts,
    found: Rc<RefCell<FoundImports>>,
}

impl Names {
    pub(crate) fn new(texts: &Texts, found: &Rc<RefCell<FoundImports>>) -> Names {
        Names { texts: texts.clone(), found: Rc::clone(found) }
    }
}

impl Resolver for Names {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let import = |name: String| Import { base: base.to_owned(), written: name.clone(), name };
        match resolve(base, name) {
            Ok(file) => {
                if !self.texts.has(&file) {
                    let missing = Import { name: file.clone(), ..import(name.to_owned()) };
                    self.found.borrow_mut().missing.push(missing);
                }
                Ok(file)
            }
            Err(message) => {
                let error = Exception::throw_reference(ctx, &message);
                self.found.borrow_mut().refused = Some((import(name.to_owned()), message));
                Err(error)
            }
        }
    }
}

/// The texts of modules by their plain names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    by_name: Rc<BTreeMap<String, Arc<str>>>,
    /// A text that is not there is an empty one.
    is_complete: bool,
}

impl Texts {
    /// `is_complete`: a module that is not there is an error.
    pub(crate) fn new<'a>(files: impl Iterator<Item = &'a ScriptFile>, is_complete: bool) -> Texts {
        let texts = files.map(|file| (plain_name(&file.name), Arc::clone(&file.text)));
        Texts { by_name: Rc::new(texts.collect()), is_complete }
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }
}

impl Loader for Texts {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let text: &str = match self.by_name.get(name) {
            Some(text) => text,
            None if !self.is_complete => "",
            None => {
                let message = format!("there is no module `{name}`");
                return Err(Exception::throw_reference(ctx, &message));
            }
        };
        let probe = format!("\nexport const {PROBE} = ({PROBE}_text) => eval({PROBE}_text);\n");
        Module::declare(ctx.clone(), name, [text, &probe].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> ScriptFile {
        ScriptFile { name: name.to_owned(), text: text.into() }
    }

    #[test]
    fn modules_are_known_by_name_or_by_their_lines() {
        for text in [
            "import x from './x.js';",
            "const a = 1;\n  export { a };",
            "export const a = 1;",
            "import './x.js'",
            "export * from './x.js'",
            "import{x}from'./x.js'",
            "/* What follows\n is a module. */\nexport const a = 1;",
            "const a = `${`\n}`}`;\nexport { a };",
        ] {
            assert!(is_module(&file("a.js", text)), "{text}");
        }
        for text in [
            "const imports = 1;",
            "// export a",
            "exports.a = 1;",
            "important();",
            "",
            "/*\nimport x from './x.js';\n*/\nconst a = 1;",
            "const a = `\nexport { a };\n`;",
            "const a = `${1}\nimport a\n`;",
        ] {
            assert!(!is_module(&file("a.js", text)), "{text}");
        }
        assert!(is_module(&file("a.mjs", "")));
    }

    #[test]
    fn imports_lead_to_files_below_the_scenarios_folder() {
        for (base, written, expected) in [
            ("main.js", "./a.js", Ok("a.js")),
            ("lib/main.js", "./a.js", Ok("lib/a.js")),
            ("lib/main.js", "../a.js", Ok("a.js")),
            ("lib/main.js", "./x/.././/a.js", Ok("lib/a.js")),
            ("node_modules/one/index.js", "../two/index.js", Ok("node_modules/two/index.js")),
            ("../shared/main.js", "./a.js", Ok("../shared/a.js")),
            ("/srv/main.js", "./a.js", Ok("/srv/a.js")),
            ("throng:0", "../shared/main.js", Ok("../shared/main.js")),
            ("main.js", "../a.js", Err("outside of the scenario's folder")),
            ("lib/main.js", "../../a.js", Err("outside of the scenario's folder")),
            ("main.js", "lodash", Err("`./node_modules/lodash/FILE.js`")),
            ("main.js", "k6/http", Err("is no path of a file")),
            ("main.js", "/etc/a.js", Err("is no path of a file")),
            ("main.js", "https://a.test/a.js", Err("is no path of a file")),
        ] {
            match (resolve(base, written), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{base} {written}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, _) => panic!("{base} {written}: {found:?}"),
            }
        }
    }

    #[test]
    fn names_become_plain() {
        for (name, expected) in [
            ("./a.js", "a.js"),
            ("b/./../a.js", "a.js"),
            ("../a.js", "../a.js"),
            ("/b//a.js", "/b/a.js"),
        ] {
            assert_eq!(plain_name(name), expected);
        }
    }
}
