//! Regular expressions over what a target sends: the work of a search is bounded, whatever the text is.
//!
//! The crate `regex` takes time that is linear in the text, times the expression's size where no automaton can be made of
//! it: `(?:a{1,200}){1,20}x` takes minutes for some megabytes of `a`. So a long text is searched by a lazy automaton
//! first, which gives up instead, and only what it found is searched for groups.

use std::sync::Arc;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa;
use regex_automata::hybrid::regex::Regex as Lazy;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

/// Most steps that the expressions of all searches of a step take one by one, a state of the expression at a byte each:
/// that takes some tenths of a second.
pub const PATTERN_STEPS_MAX: u64 = 50_000_000;
/// Longest compiled expression, in bytes.
const PROGRAM_BYTES_MAX: usize = 1 << 20;
/// An automaton whose states did not fit into its cache (2 MiB) so often gives up.
const CACHE_CLEARS_MAX: usize = 3;

/// A regular expression over bytes.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// The same as a lazy automaton; `None`: there is none.
    lazy: Option<Arc<Lazy>>,
    /// How many states a byte may be looked at in.
    states: u64,
}

/// A search would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the regular expressions would take more than 50,000,000 steps")]
pub struct TooManySteps;

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it is none, or too large.
    pub fn new(text: &str) -> Result<Pattern, regex::Error> {
        let regex = RegexBuilder::new(text).size_limit(PROGRAM_BYTES_MAX).build()?;
        let lazy = lazy(text);
        let states = lazy.as_ref().map(|lazy| lazy.forward().get_nfa().states().len());
        // Without an automaton, a state for each byte of the largest expression.
        let states = states.unwrap_or(PROGRAM_BYTES_MAX) as u64;
        Ok(Pattern { regex, lazy: lazy.map(Arc::new), states })
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// How many groups it has, the whole match among them.
    pub fn captures_len(&self) -> usize {
        self.regex.captures_len()
    }

    /// The groups of its first match. `steps_left`: how many steps it may take; those that it may have taken are taken off.
    ///
    /// # Errors
    /// If it might take more. Then it is not known whether there is a match.
    pub fn captures<'t>(
        &self,
        text: &'t [u8],
        steps_left: &mut u64,
    ) -> Result<Option<Captures<'t>>, TooManySteps> {
        if self.spend(text.len(), steps_left).is_ok() {
            return Ok(self.regex.captures(text));
        }
        let lazy = self.lazy.as_ref().ok_or(TooManySteps)?;
        let found = lazy.try_search(&mut lazy.create_cache(), &Input::new(text));
        let Some(found) = found.map_err(|_| TooManySteps)? else {
            return Ok(None);
        };
        self.spend(found.len(), steps_left)?;
        Ok(self.regex.captures_at(text, found.start()))
    }

    /// Whether it matches anywhere; false where that would take too many steps.
    pub fn is_match(&self, text: &[u8]) -> bool {
        if self.spend(text.len(), &mut { PATTERN_STEPS_MAX }).is_ok() {
            return self.regex.is_match(text);
        }
        let found = self.lazy.as_ref().map(|lazy| {
            let mut cache = lazy.forward().create_cache();
            lazy.forward().try_search_fwd(&mut cache, &Input::new(text))
        });
        matches!(found, Some(Ok(Some(_))))
    }

    /// Takes the most steps off that so many bytes take.
    fn spend(&self, bytes: usize, steps_left: &mut u64) -> Result<(), TooManySteps> {
        let steps = self.states.saturating_mul(bytes as u64);
        *steps_left = steps_left.checked_sub(steps).ok_or(TooManySteps)?;
        Ok(())
    }
}

/// The expression as `regex::bytes` understands it.
fn lazy(text: &str) -> Option<Lazy> {
    let automaton = dfa::Config::new()
        .unicode_word_boundary(true)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(CACHE_CLEARS_MAX));
    let built = Lazy::builder()
        .syntax(syntax::Config::new().utf8(false))
        .thompson(thompson::Config::new().utf8(false))
        .dfa(automaton)
        .build(text);
    built.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(pattern: &str, text: &[u8]) -> Result<Option<Vec<u8>>, TooManySteps> {
        let pattern = Pattern::new(pattern).unwrap();
        let found = pattern.captures(text, &mut { PATTERN_STEPS_MAX })?;
        Ok(found.and_then(|groups| Some(groups.get(1)?.as_bytes().to_vec())))
    }

    /// 8 MiB of this byte, then a text.
    fn long(byte: u8, end: &[u8]) -> Vec<u8> {
        [&vec![byte; 8 << 20][..], end].concat()
    }

    #[test]
    fn expressions_that_multiply_the_work_are_given_up() {
        let slow = r"((?:a{1,200}){1,20})x";
        assert_eq!(group(slow, b"aax"), Ok(Some(b"aa".to_vec())));
        let text = long(b'a', b"");
        assert_eq!(group(slow, &text), Err(TooManySteps));
        assert!(!Pattern::new(slow).unwrap().is_match(&text));
    }

    #[test]
    fn usual_expressions_find_their_group_in_a_long_text() {
        let text = long(b'a', " name=\"ä\" value=\"t0k\" ".as_bytes());
        for usual in [r#"value="([^"]+)""#, r#"name="[^"]*" value="(\w+)""#, r"(?-u)\xa4.*=.(t0k)"]
        {
            assert_eq!(group(usual, &text), Ok(Some(b"t0k".to_vec())), "{usual}");
            assert!(Pattern::new(usual).unwrap().is_match(&text));
        }
        assert_eq!(group("(nothing)", &text), Ok(None));
        assert_eq!(group("^(a)", &text), Ok(Some(b"a".to_vec())));
    }

    #[test]
    fn searches_share_their_steps() {
        let pattern = Pattern::new("(a+)").unwrap();
        let mut left = PATTERN_STEPS_MAX;
        let text = vec![b'a'; 1 << 20];
        let found =
            (0..100).map(|_| pattern.captures(&text, &mut left).map(|found| found.is_some()));
        assert!(found.collect::<Vec<_>>().contains(&Err(TooManySteps)));
    }
}
