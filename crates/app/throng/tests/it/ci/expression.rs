//! The part of GitHub's expressions that the Action uses: `==`, `<`, `&&`, `||`, `format`, texts, numbers, names.

/// A text in which each `${{ … }}` is replaced by its value.
pub(super) fn render(text: &str, name: &dyn Fn(&str) -> String) -> String {
    let mut parts = text.split("${{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inside, rest) = part.split_once("}}").unwrap();
        out += &value(inside, name);
        out += rest;
    }
    out
}

/// True if a step's condition holds.
pub(super) fn holds(condition: &str, name: &dyn Fn(&str) -> String) -> bool {
    render(condition, name) == "true"
}

fn value(text: &str, name: &dyn Fn(&str) -> String) -> String {
    let text = text.trim();
    if text.contains(" && ") {
        let all = text.split(" && ").all(|part| value(part, name) == "true");
        return all.to_string();
    }
    if text.contains(" || ") {
        let values = text.split(" || ").map(|part| value(part, name));
        return values.into_iter().find(|v| !v.is_empty()).unwrap_or_default();
    }
    if let Some((left, right)) = text.split_once(" == ") {
        return (value(left, name) == value(right, name)).to_string();
    }
    if let Some((left, right)) = text.split_once(" < ") {
        let number = |text| value(text, name).parse::<f64>().unwrap();
        return (number(left) < number(right)).to_string();
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted.trim_end_matches('\'').to_owned();
    }
    if let Some(arguments) = text.strip_prefix("format(") {
        let mut arguments = arguments.trim_end_matches(')').split(", ");
        let mut out = value(arguments.next().unwrap(), name);
        for (i, argument) in arguments.enumerate() {
            out = out.replace(&format!("{{{i}}}"), &value(argument, name));
        }
        return out;
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    name(text)
}

#[test]
fn expressions_have_values() {
    let name = |name: &str| match name {
        "inputs.a" => "x".to_owned(),
        "inputs.number" => "1".to_owned(),
        _ => String::new(),
    };
    for (text, expected) in [
        ("a ${{ inputs.a }} b", "a x b"),
        ("${{ inputs.b || 'or' }}", "or"),
        ("${{ inputs.b || format('{0}/{1}', inputs.a, 'y') }}", "x/y"),
        ("${{ inputs.b == '' && inputs.number < 2 }}", "true"),
        ("${{ inputs.a == '' }}", "false"),
    ] {
        assert_eq!(render(text, &name), expected);
    }
}
