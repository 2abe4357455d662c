//! Questions that rules ask after events of a game, and that the next event decides.

use std::str::FromStr;

use crate::bus::model::Outcome;

/// Longest text of a question, in characters.
pub(crate) const TEXT_MAX: usize = 200;

/// Events after which a rule asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Goal,
    FullTime,
    Any,
}

/// Next events that mean yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yes {
    /// A goal of the side that the event before was of.
    Same,
    /// A goal of the other side.
    Other,
    /// A goal of either.
    Goal,
    /// The end of the match.
    FullTime,
}

/// A rule: `goal:same:Does the same side score again?` asks after each goal, and a goal of the same side as the next event
/// means yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRule {
    after: After,
    yes: Yes,
    pub(crate) text: String,
}

/// A text that is no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a rule is `AFTER:YES:QUESTION`, where AFTER is goal, full-time or any, YES is same, other, goal or full-time, and \
     QUESTION has at most {TEXT_MAX} characters"
)]
pub struct RuleError;

impl FromStr for QuestionRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut parts = text.splitn(3, ':');
        let after = match parts.next() {
            Some("goal") => After::Goal,
            Some("full-time") => After::FullTime,
            Some("any") => After::Any,
            _ => return Err(RuleError),
        };
        let yes = match parts.next() {
            Some("same") => Yes::Same,
            Some("other") => Yes::Other,
            Some("goal") => Yes::Goal,
            Some("full-time") => Yes::FullTime,
            _ => return Err(RuleError),
        };
        let text = parts.next().unwrap_or_default().trim();
        // Which side is the same one is not known after the end of a match.
        let has_side = after == After::Goal || matches!(yes, Yes::Goal | Yes::FullTime);
        if text.is_empty() || text.chars().count() > TEXT_MAX || !has_side {
            return Err(RuleError);
        }
        Ok(Self { after, yes, text: text.to_owned() })
    }
}

impl QuestionRule {
    /// Whether it asks after an event with this outcome.
    pub(crate) fn asks_after(&self, outcome: Outcome) -> bool {
        match self.after {
            After::Goal => outcome != Outcome::None,
            After::FullTime => outcome == Outcome::None,
            After::Any => true,
        }
    }

    /// How the question's pool is settled, if `next` follows `before`.
    pub(crate) fn decision(&self, before: Outcome, next: Outcome) -> Outcome {
        let is_goal = next != Outcome::None;
        let is_yes = match self.yes {
            Yes::Same => is_goal && next == before,
            Yes::Other => is_goal && next != before,
            Yes::Goal => is_goal,
            Yes::FullTime => !is_goal,
        };
        if is_yes { Outcome::Home } else { Outcome::Away }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_decide() {
        let rule: QuestionRule = "goal:same:Does the same side: again?".parse().unwrap();
        assert_eq!(rule.text, "Does the same side: again?");
        assert!(rule.asks_after(Outcome::Away) && !rule.asks_after(Outcome::None));
        for (next, decided) in [
            (Outcome::Home, Outcome::Home),
            (Outcome::Away, Outcome::Away),
            (Outcome::None, Outcome::Away),
        ] {
            assert_eq!(rule.decision(Outcome::Home, next), decided, "{next:?}");
        }
        let end: QuestionRule = "any:full-time:Is it over?".parse().unwrap();
        assert_eq!(end.decision(Outcome::None, Outcome::None), Outcome::Home);
        let long = format!("goal:same:{}", "x".repeat(TEXT_MAX + 1));
        for bad in
            ["", "goal", "goal:same", "goal:same:", "full-time:same:x", "never:goal:x", &long]
        {
            assert_eq!(bad.parse::<QuestionRule>(), Err(RuleError), "{bad}");
        }
    }
}
