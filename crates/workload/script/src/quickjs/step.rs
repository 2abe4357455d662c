//! The code around the text of a step.
//!
//! The text is the body of a function of `vars`. Around it, generated code makes `vars` of the values that go in, and a
//! list of those that come out: of the object that the body returns, or of `vars` if it returns nothing.

use std::fmt::Write;

use crate::calls::Fault;

/// The file name of places in steps: lines are those of the scenario.
pub(crate) const STEP_FILE: &str = "scenario";

/// The body as a function, so that its lines have the numbers that they have in the scenario, from `line` on.
pub(crate) fn body(text: &str, line: u32) -> String {
    let before = "\n".repeat(usize::try_from(line.saturating_sub(2)).unwrap_or(0));
    format!("{before}({})", function(text))
}

/// A fault of a text with the line that it has in the scenario, whose line `line` is the text's first.
pub(crate) fn placed(fault: Fault, line: u32) -> Fault {
    let place = fault.place.map(|(own, column)| (line.saturating_add(own - 1), column));
    Fault { place, ..fault }
}

/// The body's function as its source text shows it.
pub(crate) fn function(text: &str) -> String {
    format!("function (vars) {{\n{text}\n}}")
}

/// A function that takes the body's and returns that of the step.
///
/// Inputs that are no outputs are read-only, and nothing can be added: an assignment that would be lost is an error.
pub(crate) fn around(inputs: &[String], outputs: &[String]) -> String {
    let mut vars = String::new();
    for (at, name) in inputs.iter().enumerate() {
        let _ = match outputs.contains(name) {
            true => write!(vars, "\"{name}\": i{at}, "),
            false => write!(vars, "get \"{name}\"() {{ return i{at}; }}, "),
        };
    }
    for name in outputs.iter().filter(|name| !inputs.contains(name)) {
        let _ = write!(vars, "\"{name}\": null, ");
    }
    let parameters: Vec<String> = (0..inputs.len()).map(|at| format!("i{at}")).collect();
    let known: Vec<String> = outputs.iter().map(|name| format!("key === \"{name}\"")).collect();
    let listed = |from: &str| {
        let items: Vec<String> = outputs.iter().map(|name| format!("{from}(\"{name}\")")).collect();
        format!("[{}]", items.join(", "))
    };
    let known = match known.is_empty() {
        true => "false".to_owned(),
        false => known.join(" || "),
    };
    format!(
        r#"(function (body) {{ return function ({parameters}) {{
  const vars = Object.seal({{ {vars} }});
  const kept = (key) => vars[key];
  const found = body(vars);
  if (found === undefined) return {of_vars};
  if (found === null || typeof found !== "object" || Array.isArray(found)) {{
    throw new TypeError("a `js` step returns an object, or nothing");
  }}
  if (typeof found.then === "function") throw new TypeError("it returned a promise, which a script cannot wait for");
  for (const key of Object.keys(found)) {{
    if (!({known})) throw new TypeError("it returned `" + key + "`, which `sets` does not name");
  }}
  const given = (key) => Object.hasOwn(found, key) ? found[key] : vars[key];
  return {of_found};
}}; }})"#,
        parameters = parameters.join(", "),
        of_vars = listed("kept"),
        of_found = listed("given"),
    )
}
