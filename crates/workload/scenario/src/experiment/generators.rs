//! Generators of fractional designs: `D=ABC`.

use stats::factorial::factor_letter;

use super::{FACTORS_MAX, Factor, Generator};
use crate::check::Checker;
use crate::document::node::{Node, Place};

impl Checker<'_> {
    /// Reads the generators. They must leave every main effect a column of its own.
    pub(super) fn generators(&mut self, node: &Node, factors: &[Factor]) -> Vec<Generator> {
        let mut found: Vec<(Generator, Place)> = Vec::new();
        for item in self.one_or_more(node) {
            let Some(word) = self.word(item, "a generator") else {
                continue;
            };
            match generator(&word.text, factors.len()) {
                Ok(generator) => found.push((generator, word.place)),
                Err(message) => {
                    self.diagnostics
                        .error("bad-generator", &word.place, message)
                        .hint("write it like `D=ABC`, or `D=-ABC`");
                }
            }
        }
        for (number, (generator, place)) in found.iter().enumerate() {
            if let Some(problem) = clash(generator, &found[..number], &found) {
                self.diagnostics.error("bad-generator", place, problem.0).hint(problem.1);
            }
        }
        found.into_iter().map(|(generator, _)| generator).collect()
    }
}

/// The conflict of a generator with those before it, and a hint.
fn clash(
    generator: &Generator,
    before: &[(Generator, Place)],
    all: &[(Generator, Place)],
) -> Option<(String, String)> {
    let own = factor_letter(generator.factor);
    if before.iter().any(|(other, _)| other.factor == generator.factor) {
        return Some((
            format!("{own} is set twice"),
            "each factor has at most one generator".to_owned(),
        ));
    }
    let is_generated = |factor: &&usize| all.iter().any(|(other, _)| other.factor == **factor);
    if let Some(&factor) = generator.of.iter().find(is_generated) {
        return Some((
            format!("{} is itself set by a generator", factor_letter(factor)),
            "the right side must have factors without a generator".to_owned(),
        ));
    }
    if let [only] = generator.of[..] {
        return Some((
            format!(
                "the main effects of {own} and {} could not be distinguished",
                factor_letter(only)
            ),
            "multiply at least two factors".to_owned(),
        ));
    }
    let (other, _) = before.iter().find(|(other, _)| other.of == generator.of)?;
    Some((
        format!(
            "the main effects of {own} and {} could not be distinguished: both have one generator",
            factor_letter(other.factor)
        ),
        "give each factor another product".to_owned(),
    ))
}

fn generator(text: &str, factors_count: usize) -> Result<Generator, String> {
    let form = || format!("`{text}` is not a generator");
    let (left, right) = text.split_once('=').ok_or_else(form)?;
    let (negative, right) = match right.trim().strip_prefix(['-', '−']) {
        Some(rest) => (true, rest),
        None => (false, right),
    };
    let left = numbers(left, factors_count)?;
    let mut of = numbers(right, factors_count)?;
    of.sort_unstable();
    let &[factor] = &left[..] else {
        return Err(form());
    };
    if of.is_empty() {
        return Err(form());
    }
    if of.contains(&factor) || of.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(format!("a factor occurs twice in `{text}`"));
    }
    Ok(Generator { factor, of, negative })
}

fn numbers(text: &str, factors_count: usize) -> Result<Vec<usize>, String> {
    let letters = text.chars().filter(|c| !c.is_whitespace());
    letters
        .map(|c| {
            let found =
                (0..FACTORS_MAX.min(factors_count)).find(|&factor| factor_letter(factor) == c);
            found.ok_or_else(|| {
                let last = factor_letter(factors_count.saturating_sub(1));
                format!("there is no factor {c}: the letters are A to {last}, without I")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_are_read() {
        let read = |text: &str| generator(text, 4);
        let found = read("D = -CA").unwrap();
        assert_eq!((found.factor, &found.of[..], found.negative), (3, &[0, 2][..], true));
        for (text, problem) in [
            ("D", "`D` is not a generator"),
            ("D=", "`D=` is not a generator"),
            ("AD=B", "`AD=B` is not a generator"),
            ("D=AE", "there is no factor E: the letters are A to D, without I"),
            ("D=AA", "a factor occurs twice in `D=AA`"),
            ("D=AD", "a factor occurs twice in `D=AD`"),
        ] {
            assert_eq!(read(text).unwrap_err(), problem);
        }
    }
}
