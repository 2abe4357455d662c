//! Scenarios of several files.

use plan::Threshold;

use crate::{plan, plan_with, rendered};

/// A scenario with a session of its own that includes this.
fn including(include: &str) -> String {
    format!(
        "target: http://127.0.0.1/\ninclude: {include}\nsessions:\n  s: [ {{ get: / }} ]\n\
         arrivals: [ {{ constant: 1/s, for: 1s }} ]\n"
    )
}

#[test]
fn what_files_have_belongs_to_the_scenario() {
    let plan = plan(&including("part.yaml"));
    let names: Vec<&str> = plan.sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["s", "part"]);
    let texts: Vec<&str> = plan.thresholds.iter().map(|Threshold { text, .. }| &**text).collect();
    assert_eq!(texts, ["errors == 0"]);
    let included: Vec<&str> = plan.included.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(included, ["part.yaml"]);
}

#[test]
fn a_file_may_have_metrics_that_its_sessions_record() {
    let counted = plan(&including("counted.yaml"));
    assert_eq!(counted.metrics[0].name, "paid");
    assert_eq!(counted.thresholds[0].text, "sum(paid) >= 5 EUR");
    let twice = including("counted.yaml") + "metrics: { paid: gauge }\n";
    assert!(rendered(&twice, &[]).contains("the metric `paid` is given twice"));
}

#[test]
fn a_step_knows_its_file_and_line() {
    let plan = plan(&including("part.yaml"));
    assert_eq!(plan.sessions[0].place(0), "session \"s\", line 4");
    assert_eq!(plan.sessions[1].place(0), "session \"part\", line 4 of part.yaml");
    let script = plan.script.unwrap();
    assert_eq!((script.steps[0].file.as_deref(), script.steps[0].line), (Some("part.yaml"), 5));
}

#[test]
fn parameters_of_a_file_get_values() {
    let path = |text: &str, sets: &[(&str, &str)]| {
        let plan = plan_with(text, sets);
        let mut names = plan.measures.into_iter().map(|measure| measure.name);
        names.find(|name| name.starts_with("/b")).unwrap_or_default()
    };
    let own = including("part.yaml");
    let with = including("{ file: part.yaml, with: { path: '${base}/given', base: /c } }");
    let given = including("{ file: part.yaml, with: { path: /given } }");
    let of_scenario = format!("params: {{ path: /mine }}\n{own}");
    let none: &[(&str, &str)] = &[];
    let set: &[(&str, &str)] = &[("path", "/set")];
    for (text, sets, expected) in [
        (&own, none, "/b/part"),
        (&given, none, "/b/given"),
        (&of_scenario, none, "/b/mine"),
        (&own, set, "/b/set"),
    ] {
        assert_eq!(path(text, sets), expected, "{text}");
    }
    // A value may use parameters that stand before.
    assert!(rendered(&with, &[]).contains("base"), "a later one is unknown");
}

#[test]
fn a_file_that_several_include_is_read_once() {
    let names = |include: &str| -> Vec<String> {
        plan(&including(include)).sessions.into_iter().map(|session| session.name).collect()
    };
    assert_eq!(names("[ part.yaml, both.yaml ]"), ["s", "part"]);
    assert_eq!(names("both.yaml"), ["s", "part"]);
}

#[track_caller]
fn refused(include: &str, expected: &[&str]) {
    let said = rendered(&including(include), &[]);
    for expected in expected {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn problems_name_their_file() {
    refused(
        "wrong.yaml",
        &[
            "wrong.yaml:4:15: error: `nothing` is not defined",
            "  4 |     - get: /${nothing}\n",
            "wrong.yaml:5:3: error: the session `s` is given twice\n",
            "it is first given in line 4 of the scenario\n",
            "wrong.yaml:6:1: error: `target` cannot be included\n",
        ],
    );
    refused("wrong-js.yaml", &["wrong-js.yaml:6:", "  6 |         retrun a;\n"]);
    refused("unfinished.yaml", &["unfinished.yaml:", "this is not YAML"]);
    refused("list.yaml", &["list.yaml:1:1: error: `list.yaml` is no part of a scenario\n"]);
    refused("none.yaml", &["test.yaml:2:10: error: `none.yaml` cannot be read: no such file\n"]);
}

#[test]
fn what_cannot_be_included_is_said() {
    refused("ring-a.yaml", &["ring-b.yaml:2:12: error: `./ring-a.yaml` includes itself\n"]);
    refused("self.yaml", &["self.yaml:1:10: error: `test.yaml` includes itself\n"]);
    refused("'${name}.yaml'", &["cannot depend on parameters"]);
    refused("{ with: { path: /x } }", &["`file` is missing in `include`"]);
    refused("{ file: part.yaml, width: 1 }", &["unknown key `width`", "did you mean `with`?"]);
    refused("{ file: part.yaml, with: { pth: /x } }", &["`part.yaml` has no parameter `pth`"]);
    refused("[ part.yaml, { file: part.yaml, with: { path: /x } } ]", &["is included already"]);
    let own = format!(
        "params: {{ path: /mine }}\n{}",
        including("{ file: part.yaml, with: { path: /x } }")
    );
    assert!(rendered(&own, &[]).contains("the parameter `path` is given twice"));
    let said = rendered(&including("part.yaml"), &[("include", "other.yaml")]);
    assert!(said.contains("`include` cannot be overridden"), "{said}");
}

/// The limits hold for all files together.
#[test]
fn files_are_bounded() {
    let settings = |files: &dyn Fn(&str) -> Result<String, String>| {
        let settings = scenario::Settings { overrides: &[], env: &|_| None, files };
        let text = including("0.yaml");
        let (plan, diagnostics) =
            scenario::compile(scenario::Source { name: "test.yaml", text: &text }, &settings);
        (plan.is_some(), diagnostics.first().map(|diagnostic| diagnostic.message.clone()))
    };
    let number = |name: &str| name.trim_end_matches(".yaml").parse::<u32>().unwrap();
    let chain = |name: &str| Ok(format!("include: {}.yaml\n", number(name) + 1));
    assert_eq!(settings(&chain), (false, Some("`8.yaml` is one file too many".to_owned())));
    let wide = |name: &str| {
        let names: Vec<String> = (1..100).map(|number| format!("{number}.yaml")).collect();
        Ok(if name == "0.yaml" {
            format!("include: [ {} ]", names.join(", "))
        } else {
            "params: {}".to_owned()
        })
    };
    assert_eq!(settings(&wide), (false, Some("`64.yaml` is one file too many".to_owned())));
    let large = |_: &str| Ok("#".repeat(4 << 20));
    let said = "with `0.yaml` the scenario is too large".to_owned();
    assert_eq!(settings(&large), (false, Some(said.clone())));
    let many = |_: &str| Ok(format!("thresholds: [ {} ]", "x, ".repeat(100_000)));
    let found = settings(&many);
    assert!(!found.0);
    let full = |_: &str| Ok(format!("thresholds: [ {} ]", "x, ".repeat(99_990)));
    assert_eq!(settings(&full), (false, Some(said)));
}
