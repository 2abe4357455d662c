//! Users' own questions and their friends.
//!
//! Their tables are made if a process first opens the store with `--questions`. Each call is one statement, but
//! those that ask and befriend; what must be unique is so by a key.

use super::Sql;
use super::dialect::Dialect;
use super::link::{Failure, Session};
use super::metrics::Call;
use super::open::{OpenError, Row, in_dialect, number};
use super::reads::{count, outcome, stored};
use crate::bus::model::{GameId, PoolId};
use crate::social::{
    AskResult, Asker, FRIENDS_MAX, LISTED_MAX, Question, RuleOrigin, Slots, Social, Viewers,
};
use crate::transactions::Answer;
use server::database::{Sql as Connection, SqlError, Value};

/// Names are bytes, so that they differ as accounts do.
const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS market_questions (id {serial}, pool BIGINT NOT NULL UNIQUE, about BIGINT NOT NULL,
        question VARCHAR(200) NOT NULL, answer_home VARCHAR(32) NOT NULL, answer_away VARCHAR(32) NOT NULL,
        asker {name}, seen_by BIGINT NOT NULL, rule BIGINT, event BIGINT, outcome BIGINT,
        UNIQUE (about, id), UNIQUE (about, event, rule)) {engine}",
    "CREATE TABLE IF NOT EXISTS market_friends (id {serial}, who {friend} NOT NULL, friend {friend} NOT NULL,
        UNIQUE (who, friend)) {engine}",
];
/// Both servers index so many bytes: names have 64 at most.
const FRIEND_BYTES: &str = "VARBINARY(64)";

/// Selects questions as [`question`] reads them.
macro_rules! questions {
    ($behind:literal) => {
        concat!(
            "SELECT pool, about, question, answer_home, answer_away, asker, seen_by, rule, event, outcome \
             FROM market_questions ",
            $behind
        )
    };
}

const ONE: &str = questions!("WHERE pool = ?");
/// Pools of slots have no common order in time.
const ABOUT: &str = questions!("WHERE about = ? ORDER BY id DESC LIMIT ?");
const AFTER: &str = questions!("WHERE about = ? AND event = ? AND rule IS NOT NULL ORDER BY pool");
const ASK: &str = "INSERT INTO market_questions (pool, about, question, answer_home, answer_away, asker, seen_by, \
     rule, event, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
/// The open pool of the first slot that has no question.
const FREE: &str = "SELECT g.open_pool FROM market_games g \
     LEFT JOIN market_questions q ON q.pool = g.open_pool \
     WHERE g.id >= ? AND q.pool IS NULL ORDER BY g.id LIMIT 1";
/// Open questions of a user.
const OPEN_OF: &str = "SELECT count(*) FROM market_games g \
     JOIN market_questions q ON q.pool = g.open_pool WHERE g.id >= ? AND q.asker = ?";
const ASKED: &str =
    "SELECT count(*) FROM market_questions WHERE about = ? AND event = ? AND rule = ?";
/// Events of a game behind one that are settled.
const LATER: &str =
    "SELECT count(*) FROM market_events WHERE game = ? AND number > ? AND pool IS NOT NULL";
/// Keeps all others from asking until the transaction ends.
const ALONE: &str = "SELECT open_pool FROM market_games WHERE id = ? FOR UPDATE";
const BEFRIEND: &str = "INSERT INTO market_friends (who, friend) VALUES (?, ?)";
const FRIENDS: &str = "SELECT a.friend FROM market_friends a \
     JOIN market_friends b ON b.who = a.friend AND b.friend = a.who WHERE a.who = ? ORDER BY a.friend LIMIT ?";
/// Others whom a user calls friends.
const CALLED: &str = "SELECT count(*) FROM market_friends WHERE who = ? AND friend <> ?";

const TO_ALL: i64 = 0;
const TO_FRIENDS: i64 = 1;

/// Makes the tables where they are missing.
pub(super) fn make(sql: &mut dyn Connection, dialect: &Dialect) -> Result<(), OpenError> {
    let friend = match dialect.name {
        "VARBINARY(1024)" => FRIEND_BYTES,
        bytes => bytes,
    };
    for table in TABLES {
        sql.plain(&in_dialect(dialect, &table.replace("{friend}", friend)))?;
    }
    Ok(())
}

fn ask(
    session: &mut Session<'_>,
    dialect: &Dialect,
    question: &Question,
    slots: Slots,
) -> Result<AskResult, Failure> {
    // Whoever finds no slot holds up nobody.
    if session.rows(FREE, &[Value::Int(slots.first.0.into())])?.is_empty() {
        return Ok(AskResult::NoSlot);
    }
    session.begin()?;
    let asked = ask_alone(session, dialect, question, slots)?;
    match asked {
        AskResult::Asked(_) => session.commit()?,
        _ => session.roll_back()?,
    }
    Ok(asked)
}

/// Asks within a transaction. What is read behind its locks stays as it is until the transaction ends.
fn ask_alone(
    session: &mut Session<'_>,
    dialect: &Dialect,
    question: &Question,
    slots: Slots,
) -> Result<AskResult, Failure> {
    let about = Value::Int(question.about.0.into());
    let first = Value::Int(slots.first.0.into());
    if matches!(question.asker, Asker::Rule(_)) {
        // No event of the game is settled meanwhile. Whoever applies a later one has it settled before, and so sees this
        // question.
        let game = std::slice::from_ref(&about);
        match dialect.share_game {
            Some(lock) => session.change(lock, game)?,
            None => drop(session.rows(dialect.shared_game, game)?),
        }
    }
    session.rows(ALONE, std::slice::from_ref(&first))?;
    match &question.asker {
        Asker::User(own) => {
            let open = session.row(OPEN_OF, &[first.clone(), name(own)])?;
            if count::<u32>(&open, 0)? >= slots.each_max() {
                return Ok(AskResult::TooMany);
            }
        }
        Asker::Rule(RuleOrigin { rule, event, .. }) => {
            let event = Value::Int(event.cast_signed());
            let origin = [about.clone(), event.clone(), Value::Int((*rule).into())];
            if count::<u64>(&session.row(ASKED, &origin)?, 0)? > 0 {
                return Ok(AskResult::AskedBefore);
            }
            if count::<u64>(&session.row(LATER, &[about, event])?, 0)? > 0 {
                return Ok(AskResult::Late);
            }
        }
    }
    let free = session.rows(FREE, &[first])?;
    let Some(free) = free.first() else {
        return Ok(AskResult::NoSlot);
    };
    let pool = PoolId(count(free, 0)?);
    insert(session, question, pool)?;
    Ok(AskResult::Asked(pool))
}

fn insert(session: &mut Session<'_>, question: &Question, pool: PoolId) -> Result<(), Failure> {
    let text = |text: &str| Value::Text(text.to_owned());
    let about = Value::Int(question.about.0.into());
    let pool = Value::Int(pool.0.cast_signed());
    let (asker, origin) = match &question.asker {
        Asker::User(name) => (Value::Bytes(name.clone().into_bytes()), None),
        Asker::Rule(origin) => (Value::Null, Some(*origin)),
    };
    let [rule, event, result] = match origin {
        Some(RuleOrigin { rule, event, outcome }) => {
            [Value::Int(rule.into()), Value::Int(event.cast_signed()), stored(outcome)]
        }
        None => [Value::Null, Value::Null, Value::Null],
    };
    let seen_by = Value::Int(match question.seen_by {
        Viewers::All => TO_ALL,
        Viewers::Friends => TO_FRIENDS,
    });
    let values = [
        pool,
        about,
        text(&question.text),
        text(&question.answers[0]),
        text(&question.answers[1]),
        asker,
        seen_by,
        rule,
        event,
        result,
    ];
    session.change(ASK, &values)
}

fn question(row: &Row) -> Result<Question, SqlError> {
    let asker = match row.get(7) {
        Some(Value::Null) | None => Asker::User(bytes(row.get(5))),
        Some(_) => Asker::Rule(RuleOrigin {
            rule: count(row, 7)?,
            event: count(row, 8)?,
            outcome: outcome(number(row, 9)?)?,
        }),
    };
    Ok(Question {
        pool: PoolId(count(row, 0)?),
        about: GameId(count(row, 1)?),
        text: bytes(row.get(2)),
        answers: [bytes(row.get(3)), bytes(row.get(4))],
        asker,
        seen_by: match number(row, 6)? {
            TO_FRIENDS => Viewers::Friends,
            _ => Viewers::All,
        },
    })
}

/// A text, however the server gives it.
fn bytes(value: Option<&Value>) -> String {
    match value {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

fn questions(
    session: &mut Session<'_>,
    query: &str,
    values: &[Value],
) -> Result<Vec<Question>, Failure> {
    let rows = session.rows(query, values)?;
    rows.iter().map(|row| Ok(question(row)?)).collect()
}

/// Requests of one user at the same instant may exceed the limit by a few; so many are never listed.
fn befriend(session: &mut Session<'_>, names: &[Value]) -> Result<bool, Failure> {
    if count::<usize>(&session.row(CALLED, names)?, 0)? >= FRIENDS_MAX {
        return Ok(false);
    }
    match session.change(BEFRIEND, names) {
        // It was so before.
        Err(Failure::Sql(SqlError::Duplicate)) => Ok(true),
        done => done.map(|()| true),
    }
}

fn name(user: &str) -> Value {
    Value::Bytes(user.as_bytes().to_vec())
}

impl Social for Sql {
    fn ask<'a>(&'a self, question: &'a Question, slots: Slots) -> Answer<'a, AskResult> {
        let question = question.clone();
        let dialect = self.accounts.dialect;
        Box::pin(self.write(Call::Ask, move |session| ask(session, dialect, &question, slots)))
    }

    fn question(&self, pool: PoolId) -> Answer<'_, Option<Question>> {
        let values = [Value::Int(pool.0.cast_signed())];
        Box::pin(self.write(Call::Question, move |session| {
            Ok(questions(session, ONE, &values)?.into_iter().next())
        }))
    }

    fn questions(&self, about: GameId) -> Answer<'_, Vec<Question>> {
        let values = [Value::Int(about.0.into()), Value::Int(LISTED_MAX as i64)];
        Box::pin(self.read(Call::Questions, move |session| questions(session, ABOUT, &values)))
    }

    fn asked_after(&self, about: GameId, event: u64) -> Answer<'_, Vec<Question>> {
        let values = [Value::Int(about.0.into()), Value::Int(event.cast_signed())];
        Box::pin(self.write(Call::Questions, move |session| questions(session, AFTER, &values)))
    }

    fn befriend<'a>(&'a self, user: &'a str, friend: &'a str) -> Answer<'a, bool> {
        let names = [name(user), name(friend)];
        Box::pin(self.write(Call::Befriend, move |session| befriend(session, &names)))
    }

    fn friends<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<String>> {
        let values = [name(user), Value::Int(FRIENDS_MAX as i64)];
        Box::pin(self.read(Call::Friends, move |session| {
            let rows = session.rows(FRIENDS, &values)?;
            Ok(rows.iter().map(|row| bytes(row.first())).collect())
        }))
    }
}
