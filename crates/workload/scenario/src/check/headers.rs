//! Headers of requests.

use plan::expr::Template;

/// Adds a header unless there is one of that name.
pub(super) fn add_absent(headers: &mut Vec<(String, Template)>, name: &str, value: &Template) {
    if !headers.iter().any(|(found, _)| found.eq_ignore_ascii_case(name)) {
        headers.push((name.to_owned(), value.clone()));
    }
}
