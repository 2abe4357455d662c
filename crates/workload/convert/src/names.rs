//! Names of variables and parameters: those of other tools, as a scenario can have them.

use std::collections::{HashMap, HashSet};

use scenario::is_name;
use scenario::keys::DOCUMENT;

/// Longest beginning of a name that is kept.
const CHARS_MAX: usize = 60;

/// The names of a conversion: one for each name of the original, and no name twice.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_original: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Names {
    /// The name that stands for one of the original, the same each time.
    pub(crate) fn of(&mut self, original: &str) -> String {
        if let Some(known) = self.by_original.get(original) {
            return known.clone();
        }
        let name = self.unused(original);
        self.by_original.insert(original.to_owned(), name.clone());
        name
    }

    /// A name like `hint` that nothing has.
    pub(crate) fn unused(&mut self, hint: &str) -> String {
        let name = sound(hint);
        let mut free = name.clone();
        let mut count = 1;
        while !self.taken.insert(free.clone()) {
            count += 1;
            free = format!("{name}_{count}");
        }
        free
    }
}

/// The text as a name of a variable and of a parameter.
fn sound(text: &str) -> String {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }
    };
    let name: String = text.chars().take(CHARS_MAX).map(fits).collect();
    match is_name(&name) && DOCUMENT.key(&name).is_none() {
        true => name,
        false => format!("v_{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sound_and_given_once() {
        let mut names = Names::default();
        assert_eq!(names.of("base-url"), "base_url");
        assert_eq!(names.of("base_url"), "base_url_2");
        assert_eq!(names.of("base-url"), "base_url");
        for odd in ["", "1st", "user", "target", "é b", "null"] {
            assert!(is_name(&names.of(odd)), "{odd}");
        }
    }
}
