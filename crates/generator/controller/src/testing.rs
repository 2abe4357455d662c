//! Helpers for the tests of this crate.

use plan::Plan;

/// The plan of a scenario that has no errors and reads no files.
pub(crate) fn plan(text: &str) -> Plan {
    plan_with(text, &|_| Err("there are none".to_owned()))
}

/// The plan of a scenario that has no errors and reads these files.
pub(crate) fn plan_with(text: &str, files: &dyn Fn(&str) -> Result<String, String>) -> Plan {
    let source = scenario::Source { name: "test.yaml", text };
    let settings = scenario::Settings { overrides: &[], env: &|_| None, files };
    let (plan, diagnostics) = scenario::compile(source, &settings);
    plan.unwrap_or_else(|| panic!("{}", scenario::render(&diagnostics, source)))
}
