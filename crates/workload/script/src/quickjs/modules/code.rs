//! The code of a script, without what stands in its comments, strings, templates and regular expressions.
//!
//! Whether a `/` divides or begins a regular expression is known to a parser alone. Here what stands before it decides,
//! which is right but for expressions behind `)` and `}`.

/// Words before an expression.
const BEFORE_EXPRESSIONS: [&str; 13] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "in",
    "instanceof",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// The code: of each string, template and regular expression, its first character is left, and each comment is a space.
pub(super) fn of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    // How many braces are open in the code in each open template.
    let mut templates: Vec<usize> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        let ends_code = first == '}' && templates.last() == Some(&0);
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if is_comment => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            '/' if may_begin_expression(&code) => expression_length(rest),
            '"' => length_to(rest, &["\"", "\n"]),
            '\'' => length_to(rest, &["'", "\n"]),
            '`' => length_to(rest, &["`", "${"]),
            '}' if ends_code => length_to(rest, &["`", "${"]),
            _ => first.len_utf8(),
        };
        let (taken, after) = rest.split_at(length);
        if ends_code && !taken.ends_with("${") {
            templates.pop();
        } else if let Some(open) = templates.last_mut().filter(|_| !ends_code) {
            match first {
                '{' => *open += 1,
                '}' => *open -= 1,
                _ => {}
            }
        }
        if first == '`' && taken.ends_with("${") {
            templates.push(0);
        }
        code.push(if is_comment { ' ' } else { first });
        // A string that is not closed ends with its line.
        if length > first.len_utf8() && taken.ends_with('\n') {
            code.push('\n');
        }
        rest = after;
    }
    code
}

/// True if what follows this code is an expression, so that a `/` does not divide.
fn may_begin_expression(code: &str) -> bool {
    let before = code.trim_end();
    let is_of_word =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let word = before.rsplit(|character: char| !is_of_word(character)).next().unwrap_or_default();
    match before.chars().next_back() {
        None => true,
        Some(last) if is_of_word(last) => BEFORE_EXPRESSIONS.contains(&word),
        Some(last) => !matches!(last, ')' | ']' | '}' | '"' | '\'' | '`' | '/'),
    }
}

/// The length of what begins with one character, to the first of these marks behind it; a backslash takes away the meaning
/// of what follows it.
fn length_to(text: &str, marks: &[&str]) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        let behind = &text[at..];
        let found = marks.iter().find(|mark| !is_escaped && behind.starts_with(**mark));
        if let Some(mark) = found {
            return at + mark.len();
        }
        is_escaped = !is_escaped && character == '\\';
    }
    text.len()
}

/// The length of a regular expression: a `/` in a class of characters does not end it, the end of its line does.
fn expression_length(text: &str) -> usize {
    let mut from = 0;
    loop {
        let end = from + length_to(&text[from..], &["/", "[", "\n"]);
        if !text[..end].ends_with('[') {
            return end;
        }
        let class = end - 1;
        let end = class + length_to(&text[class..], &["]", "\n"]);
        if !text[..end].ends_with(']') {
            return end;
        }
        from = end - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_is_left_out() {
        for (text, expected) in [
            ("a // b\nc", "a  \nc"),
            ("a /* b\n * c */ d", "a   d"),
            ("a /* b", "a  "),
            (r#"f("a\"b", 'c')"#, r#"f(", ')"#),
            ("a = 'b\nc", "a = '\nc"),
            ("a = `b\nc` + d", "a = ` + d"),
            ("`${ { a: `b\n${c}` } }\nd` e", "` { a: `c} } } e"),
            (r"a = /['`\/[/]]/g; b", "a = /g; b"),
            ("a / b / c", "a / b / c"),
            ("(a) / 'b' / c", "(a) / ' / c"),
            ("return /`/.test(a)", "return /.test(a)"),
            ("// ü\nü = 'ü'", " \nü = '"),
            ("}}{`${", "}}{`"),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
