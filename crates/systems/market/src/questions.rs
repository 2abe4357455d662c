//! Questions of users, their friends, and events of administrators: operations of a
//! connection.

use std::borrow::Cow;

use super::protocol::{PoolView, QuestionView, Reply, Request, RequestError, is_user_name};
use super::rules::TEXT_MAX;
use super::social::{
    AskResult, Asker, FRIENDS_MAX, FRIENDS_PREDICTIONS_MAX, Question, RuleOrigin, Social, Viewers,
};
use super::state::MarketState;
use super::transactions::StoreError;
use crate::bus::model::{Event, GameId, Outcome, PoolId, User};

/// Longest answer of a question, in characters.
const ANSWER_MAX: usize = 32;
/// Answers of a question that names none, and of those that rules ask.
const ANSWERS: [&str; 2] = ["yes", "no"];
/// The decision of a question that has no answer: everyone is paid back.
const CANCELLED: &str = "none";

/// Has the pool of a question settled, once: the event of its slot that decides it has the pool's own number, whoever
/// records it. True: this outcome is the one.
pub(crate) async fn settle(
    state: &MarketState,
    pool: PoolId,
    outcome: Outcome,
) -> Result<bool, StoreError> {
    let (game, number) = state.decider(pool).ok_or(StoreError::UnknownGame)?;
    let is_recorded = state.store.record(Event { game, number, outcome }).await?;
    state.recorded.notify_one();
    Ok(is_recorded)
}

/// Decides what rules asked after the event before this one, and asks what they ask after it. What was done before is not
/// done again.
pub(crate) async fn apply_rules(state: &MarketState, event: Event) -> Result<(), StoreError> {
    let Some(social) = state.social.as_deref().filter(|_| !state.rules.is_empty()) else {
        return Ok(());
    };
    let before = event.number.saturating_sub(1);
    for question in social.asked_after(event.game, before).await? {
        let Asker::Rule(origin) = question.asker else { continue };
        // A rule that is no longer there decides nothing: its stakes are paid back.
        let rule = state.rules.get(origin.rule as usize);
        let decided =
            rule.map_or(Outcome::None, |rule| rule.decision(origin.outcome, event.outcome));
        settle(state, question.pool, decided).await?;
    }
    for (number, rule) in (0u32..).zip(&state.rules) {
        if !rule.asks_after(event.outcome) {
            continue;
        }
        let origin = RuleOrigin { rule: number, event: event.number, outcome: event.outcome };
        let question = Question {
            // The slot that takes the question has a pool.
            pool: PoolId(0),
            about: event.game,
            text: rule.text.clone(),
            answers: ANSWERS.map(str::to_owned),
            asker: Asker::Rule(origin),
            seen_by: Viewers::All,
        };
        match social.ask(&question, state.slots()).await? {
            AskResult::Asked(_) => state.metrics.questions_posed.add(1),
            AskResult::AskedBefore => {}
            AskResult::NoSlot | AskResult::TooMany | AskResult::Late => {
                state.metrics.questions_unposed.add(1);
            }
        }
    }
    Ok(())
}

/// Whether a user may predict in a pool: in a game's, or in that of a question which the user sees; with the outcome that
/// an option names there.
pub(crate) async fn outcome_of(
    state: &MarketState,
    user: &User,
    pool: PoolId,
    option: &str,
) -> Result<Outcome, RequestError> {
    match state.is_slots(pool) {
        // Boxed, so that the future of predictions in games' pools stays small.
        true => Box::pin(outcome_of_question(state, user, pool, option)).await,
        false => outcome_of_game(option),
    }
}

async fn outcome_of_question(
    state: &MarketState,
    user: &User,
    pool: PoolId,
    option: &str,
) -> Result<Outcome, RequestError> {
    let social = social(state)?;
    let question = social.question(pool).await?.ok_or_else(no_pool)?;
    let own = named(user);
    let friends = match (question.seen_by, own) {
        (Viewers::Friends, Some(own)) => social.friends(own).await?,
        _ => Vec::new(),
    };
    if !is_for(&question, own, &friends) {
        return Err(not_invited());
    }
    question.outcome(option).ok_or_else(|| unknown_option(&question.answers.join(" and ")))
}

fn outcome_of_game(option: &str) -> Result<Outcome, RequestError> {
    Outcome::parse(option).ok_or_else(|| unknown_option("home, away and none"))
}

fn unknown_option(known: &str) -> RequestError {
    RequestError::new("unknown_option", format!("the options are {known}"))
}

/// Asks a question about a game.
pub(crate) async fn pose(
    state: &MarketState,
    user: &User,
    about: GameId,
    request: &Request<'_>,
) -> Result<Reply, RequestError> {
    let social = social(state)?;
    let asker = name(user)?;
    if !state.is_played(about) {
        return Err(RequestError::new("unknown_game", "no such game"));
    }
    let text = request.question.as_deref().unwrap_or_default().trim();
    let text = bounded(text, TEXT_MAX, "question")?;
    let answers = match &request.answers {
        None => ANSWERS.map(str::to_owned),
        Some(given) => answers(given)?,
    };
    let seen_by = match request.visible_to.as_deref() {
        None | Some("all") => Viewers::All,
        Some("friends") => Viewers::Friends,
        Some(_) => {
            return Err(RequestError::new("invalid", "a question is for all or for friends"));
        }
    };
    let question = Question {
        // The slot that takes the question has a pool.
        pool: PoolId(0),
        about,
        text,
        answers,
        asker: Asker::User(asker.to_owned()),
        seen_by,
    };
    let slots = state.slots();
    let pool = match social.ask(&question, slots).await? {
        AskResult::Asked(pool) => pool,
        AskResult::TooMany => {
            let problem =
                format!("you have {} open questions: decide one of them first", slots.each_max());
            return Err(RequestError::new("too_many", problem));
        }
        // Rules alone ask after events.
        AskResult::NoSlot | AskResult::AskedBefore | AskResult::Late => {
            return Err(RequestError::new("busy", "as many questions are open as may be"));
        }
    };
    state.metrics.questions_posed.add(1);
    let game = state.game_of(pool).ok_or_else(no_pool)?;
    Ok(Reply::Asked { pool, game })
}

/// The questions about a game that a user sees, with their pools.
pub(crate) async fn list(
    state: &MarketState,
    user: &User,
    about: GameId,
) -> Result<Reply, RequestError> {
    let social = social(state)?;
    // Friendship is mutual: who is a friend of the asker has the asker for a friend.
    let friends = match named(user) {
        Some(own) => social.friends(own).await?,
        None => Vec::new(),
    };
    let mut questions = Vec::new();
    for question in social.questions(about).await? {
        if !is_for(&question, named(user), &friends) {
            continue;
        }
        if let Some(pool) = state.store.pool(question.pool).await? {
            questions.push(QuestionView::new(&question, &PoolView::from(pool)));
        }
    }
    Ok(Reply::Questions { questions })
}

/// Decides a question: its asker may, and an administrator.
pub(crate) async fn decide(
    state: &MarketState,
    user: &User,
    pool: PoolId,
    request: &Request<'_>,
) -> Result<Reply, RequestError> {
    let social = social(state)?;
    let question = social.question(pool).await?.ok_or_else(no_pool)?;
    let is_asker =
        matches!(&question.asker, Asker::User(asker) if named(user) == Some(asker.as_str()));
    if !is_asker && !state.is_admin(request.token.as_deref()) {
        return Err(RequestError::new("not_yours", "only its asker decides a question"));
    }
    let option = request.option.as_deref().unwrap_or_default();
    let outcome = match option {
        CANCELLED => Some(Outcome::None),
        answer => question.outcome(answer),
    };
    let outcome = outcome.ok_or_else(|| {
        let answers = question.answers.join(", ");
        RequestError::new("unknown_option", format!("decide by {answers} or {CANCELLED}"))
    })?;
    let decided = settle(state, pool, outcome).await?;
    Ok(Reply::Decided { decided, pool })
}

/// Records an event of a game, as the feed does.
pub(crate) async fn record(
    state: &MarketState,
    game: GameId,
    request: &Request<'_>,
) -> Result<Reply, RequestError> {
    if !state.is_admin(request.token.as_deref()) {
        return Err(RequestError::new("not_allowed", "only administrators report events"));
    }
    let option = request.option.as_deref().unwrap_or_default();
    let outcome = outcome_of_game(option)?;
    if !state.is_played(game) {
        return Err(RequestError::new("unknown_game", "no such game"));
    }
    let last = state.store.last_event(game).await?;
    let next = last.saturating_add(1);
    let number = request.number.unwrap_or(next);
    // The events between would be lost, and questions that are asked after the last of them never decided.
    if number > next {
        let problem = format!("the next event of this game has the number {next}");
        return Err(RequestError::new("invalid", problem));
    }
    let recorded = state.store.record(Event { game, number, outcome }).await?;
    state.recorded.notify_one();
    Ok(Reply::Recorded { recorded, game, number })
}

/// From now on the user calls another a friend.
pub(crate) async fn befriend(
    state: &MarketState,
    user: &User,
    request: &Request<'_>,
) -> Result<Reply, RequestError> {
    let social = social(state)?;
    let own = name(user)?;
    let other = request.user.as_deref().unwrap_or_default();
    if !is_user_name(other) || other == own {
        return Err(RequestError::new("invalid", "`user` is the name of another user"));
    }
    if !social.befriend(own, other).await? {
        let problem = format!("you call {FRIENDS_MAX} users friends, as many as one may");
        return Err(RequestError::new("too_many", problem));
    }
    friends(state, user).await
}

/// The user's friends: those who call each other so.
pub(crate) async fn friends(state: &MarketState, user: &User) -> Result<Reply, RequestError> {
    let friends = social(state)?.friends(name(user)?).await?;
    Ok(Reply::Friends { friends })
}

/// The predictions of the user's friends in an open pool: a game's, or that of a question which the user sees.
pub(crate) async fn friends_predictions(
    state: &MarketState,
    user: &User,
    pool: PoolId,
) -> Result<Reply, RequestError> {
    let social = social(state)?;
    let own = name(user)?;
    let friends = social.friends(own).await?;
    if state.is_slots(pool) {
        let question = social.question(pool).await?.ok_or_else(no_pool)?;
        if !is_for(&question, Some(own), &friends) {
            return Err(not_invited());
        }
    }
    let predictions = match friends.is_empty() {
        true => Vec::new(),
        false => state.store.predictions_of(pool, &friends, FRIENDS_PREDICTIONS_MAX).await?,
    };
    Ok(Reply::FriendsPredictions { pool, predictions })
}

fn social(state: &MarketState) -> Result<&dyn Social, RequestError> {
    let social = state.social.as_deref();
    social.ok_or(RequestError::new(
        "unknown_op",
        "this market has no questions of users (--questions)",
    ))
}

/// The name that a user chose.
fn named(user: &User) -> Option<&str> {
    match user {
        User::Named(name) => Some(name),
        User::Connection(_) | User::Relayed(_) => None,
    }
}

fn name(user: &User) -> Result<&str, RequestError> {
    named(user).ok_or(RequestError::new("no_name", "connect with a name (?user=NAME) for this"))
}

/// Whether a user of this name, with these friends, sees a question.
fn is_for(question: &Question, own: Option<&str>, friends: &[String]) -> bool {
    match (&question.asker, question.seen_by) {
        (Asker::Rule(_), _) | (Asker::User(_), Viewers::All) => true,
        (Asker::User(asker), Viewers::Friends) => {
            own == Some(asker.as_str()) || friends.contains(asker)
        }
    }
}

fn not_invited() -> RequestError {
    RequestError::new("not_invited", "this question is for friends of its asker")
}

fn answers(given: &[Cow<'_, str>]) -> Result<[String; 2], RequestError> {
    let [first, second] = given else {
        return Err(RequestError::new("invalid", "a question has two answers"));
    };
    let found = [
        bounded(first.trim(), ANSWER_MAX, "answer")?,
        bounded(second.trim(), ANSWER_MAX, "answer")?,
    ];
    let is_taken = |answer: &String| answer == CANCELLED;
    if found[0] == found[1] || found.iter().any(is_taken) {
        let problem = format!("the answers differ, and none of them is `{CANCELLED}`");
        return Err(RequestError::new("invalid", problem));
    }
    Ok(found)
}

fn bounded(text: &str, max: usize, called: &str) -> Result<String, RequestError> {
    // A database keeps no NUL in a text, and nobody reads the others.
    if text.is_empty() || text.chars().count() > max || text.chars().any(char::is_control) {
        let problem = format!("the {called} has 1 to {max} characters, and no control characters");
        return Err(RequestError::new("invalid", problem));
    }
    Ok(text.to_owned())
}

fn no_pool() -> RequestError {
    RequestError::new("unknown_pool", "no such pool")
}

#[cfg(test)]
mod tests;
