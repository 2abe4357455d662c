//! Modules of CommonJS, as modules of ECMAScript: `require` of a text becomes an import, and `module.exports` an export. All
//! that is added stands in the first line, so that places stay.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::names::literals;

/// The export that is `module.exports`.
pub(crate) const EXPORTS: &str = "__exports";

/// A module's text as one of ECMAScript.
pub(crate) fn module(text: &str) -> Cow<'_, str> {
    let is_needed = ["require", "exports"].iter().any(|word| text.contains(word));
    if !is_needed {
        return Cow::Borrowed(text);
    }
    let mut required: Vec<String> = Vec::new();
    for literal in literals(text) {
        let before = literal.before.strip_suffix('(').map(str::trim_end);
        let is_call = before.is_some_and(|before| ends_with_word(before, "require"));
        if let ([name], true) = (&literal.parts[..], is_call)
            && literal.after.starts_with(')')
            && !required.contains(name)
        {
            required.push(name.clone());
        }
    }
    let code = code_of(text);
    let is_module = is_ecmascript(&code);
    let exported = if is_module { Vec::new() } else { exported(&code) };
    let is_common = !is_module && (code.contains("exports") || !required.is_empty());
    if required.is_empty() && !is_common {
        return Cow::Borrowed(text);
    }
    let mut head = String::new();
    let mut entries = String::new();
    for (at, name) in required.iter().enumerate() {
        let name = serde_json::Value::from(name.as_str());
        // Writing to a text never fails.
        let _ = write!(head, "import * as __required{at} from {name}; ");
        let _ = write!(entries, "[{name}, __required{at}], ");
    }
    let _ = write!(
        head,
        "const require = ((all) => (name) => {{ const found = all.get(name); \
         if (found === undefined) throw new Error(`require(${{JSON.stringify(name)}}): its name has to be a text in quotes`); \
         return found.{EXPORTS} === undefined ? found : found.{EXPORTS}; }})(new Map([{entries}])); "
    );
    let mut tail = String::new();
    if is_common {
        head.push_str("const module = { exports: {} }; var exports = module.exports; ");
        let _ = write!(
            tail,
            "\n;export {{ {EXPORTS} as {EXPORTS} }}; const {EXPORTS} = module.exports; \
             export default ({EXPORTS} !== null && {EXPORTS}.default !== undefined ? {EXPORTS}.default : {EXPORTS});"
        );
        for (at, name) in exported.iter().enumerate() {
            let _ = write!(
                tail,
                " const __named{at} = {EXPORTS}.{name}; export {{ __named{at} as {name} }};"
            );
        }
    }
    Cow::Owned(format!("{head}{text}{tail}"))
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let before = text.strip_suffix(word).and_then(|rest| rest.chars().next_back());
    text.ends_with(word) && !before.is_some_and(is_part)
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '.')
}

/// The text with what stands in quotes and comments left out.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut from = 0;
    let start_of = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    for literal in literals(text) {
        let begins = start_of(literal.before) + literal.before.len();
        let ends = start_of(literal.after);
        if begins >= from {
            code.push_str(&text[from..begins]);
            // Lines stay, since statements begin with them.
            let gap = &text[begins..ends];
            let before = gap.len() - gap.trim_start().len();
            let after = gap.trim_end().len();
            code.push_str(if gap[..before].contains('\n') { "\n''" } else { " ''" });
            code.push_str(if gap[after..].contains('\n') { "\n" } else { " " });
        }
        from = ends.max(from);
    }
    code.push_str(&text[from..]);
    without_comments(&code)
}

fn without_comments(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = rest.find('/') {
        let (before, comment) = rest.split_at(at);
        out.push_str(before);
        let end = if comment.starts_with("//") {
            comment.find('\n').unwrap_or(comment.len())
        } else if comment.starts_with("/*") {
            comment.find("*/").map_or(comment.len(), |end| end + 2)
        } else {
            out.push('/');
            1
        };
        rest = &comment[end..];
    }
    out.push_str(rest);
    out
}

/// Whether a statement imports or exports.
fn is_ecmascript(code: &str) -> bool {
    ["import", "export"].iter().any(|word| {
        code.match_indices(word).any(|(at, _)| {
            let before = code[..at].trim_end_matches([' ', '\t']);
            let begins = before.is_empty() || before.ends_with(['\n', ';', '}', '\r']);
            let after = code[at + word.len()..].chars().next();
            begins && matches!(after, Some(' ' | '{' | '*' | '\t' | '\n' | '\''))
        })
    })
}

/// Names that are assigned, as `exports.NAME = …`.
fn exported(code: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, word) in code.match_indices("exports.") {
        let rest = &code[at + word.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '$'));
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let after = after.trim_start();
        let is_assigned = after.starts_with('=') && !after.starts_with("==");
        let is_name = name.starts_with(|c: char| !c.is_ascii_digit()) && !name.is_empty();
        if is_assigned && is_name && name != "default" && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_nothing_stays_as_it_is() {
        for text in [
            "import http from 'k6/http';\nexport default () => http.get('http://a.test/');",
            "export const required = 1; // module.exports",
            "const text = 'module.exports'; export { text };",
        ] {
            assert!(matches!(module(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn modules_of_common_js_export() {
        let text = "const http = require('k6/http');\nexports.options = { vus: 1 };\nmodule.exports.default = () => {};";
        let found = module(text);
        assert!(found.starts_with("import * as __required0 from \"k6/http\"; "), "{found}");
        assert_eq!(found.lines().position(|line| line.starts_with("exports.options")), Some(1));
        assert!(found.contains("export { __named0 as options };"), "{found}");
        assert_eq!(exported(&code_of(text)), ["options"]);
        // A module of ECMAScript may require as well.
        let mixed = "import a from './a.js';\nconst b = require(\"./b.js\");\nexport default a;";
        let found = module(mixed);
        assert!(found.contains("import * as __required0 from \"./b.js\";"), "{found}");
        assert!(!found.contains("module = {"), "{found}");
    }

    #[test]
    fn statements_alone_make_a_module_of_ecmascript() {
        for (text, expected) in [
            ("import 'a';", true),
            ("a();\n  export default b;", true),
            ("} export { a };", true),
            ("'use strict'\nexport default 1;", true),
            ("const exported = 1; reexport ();", false),
            ("// import a from 'b'\nmodule.exports = 1;", false),
            ("/* \nexport default 1 */ a();", false),
            ("const a = `\nexport default 1`;", false),
            ("import('a').then(b);", false),
        ] {
            assert_eq!(is_ecmascript(&code_of(text)), expected, "{text}");
        }
    }
}
