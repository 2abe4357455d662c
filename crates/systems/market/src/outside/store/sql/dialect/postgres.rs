//! The statements of PostgreSQL.
//!
//! A game's lock is an advisory one: it is granted in the order of requests, so that predictions do not keep a
//! settlement waiting, and sharing it writes nothing. Shared locks of a row do both.

mod ledgers;

use super::Dialect;

/// Finds, opens or reopens an account and locks it.
const ACCOUNT: &str = "
CREATE OR REPLACE FUNCTION market_account(p_name BYTEA, p_start BIGINT, p_room SMALLINT,
    OUT v_id BIGINT, OUT v_balance BIGINT, OUT v_opened BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
    v_staked BIGINT;
    v_closing BIGINT;
BEGIN
    v_opened := 0;
    SELECT id, balance, staked, closing INTO v_id, v_balance, v_staked, v_closing
        FROM market_accounts WHERE name = p_name FOR UPDATE;
    IF v_id IS NULL AND p_room = 1 THEN
        INSERT INTO market_accounts (name, balance, staked, deposited, withdrawn, closing)
            VALUES (p_name, p_start, 0, p_start, 0, 0) ON CONFLICT DO NOTHING;
        v_opened := 1;
        SELECT id, balance, staked, closing INTO v_id, v_balance, v_staked, v_closing
            FROM market_accounts WHERE name = p_name FOR UPDATE;
    END IF;
    IF v_closing = 1 AND v_staked = 0 THEN
        UPDATE market_accounts SET withdrawn = withdrawn + balance, deposited = deposited + p_start,
            balance = p_start, closing = 0 WHERE id = v_id;
        v_balance := p_start;
    END IF;
END $$";

const OPEN: &str = "
CREATE OR REPLACE FUNCTION market_open(p_name BYTEA, p_start BIGINT, p_room SMALLINT,
    OUT v_verdict BIGINT, OUT v_balance BIGINT, OUT v_opened BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
    v_id BIGINT;
BEGIN
    SELECT a.v_id, coalesce(a.v_balance, 0), a.v_opened INTO v_id, v_balance, v_opened
        FROM market_account(p_name, p_start, p_room) a;
    v_verdict := CASE WHEN v_id IS NULL THEN 4 ELSE 1 END;
END $$";

const PREDICT: &str = "
CREATE OR REPLACE FUNCTION market_predict(p_pool BIGINT, p_game INTEGER, p_name BYTEA, p_outcome SMALLINT,
    p_amount BIGINT, p_start BIGINT, p_room SMALLINT,
    OUT v_verdict BIGINT, OUT v_balance BIGINT, OUT v_opened BIGINT, OUT v_open BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
    v_id BIGINT;
BEGIN
    v_verdict := 0;
    v_balance := 0;
    v_opened := 0;
    PERFORM pg_advisory_xact_lock_shared(1835102827, p_game);
    SELECT open_pool INTO v_open FROM market_games WHERE id = p_game;
    IF v_open >= p_pool THEN
        SELECT a.v_id, coalesce(a.v_balance, 0), a.v_opened INTO v_id, v_balance, v_opened
            FROM market_account(p_name, p_start, p_room) a;
        IF v_id IS NULL THEN
            v_verdict := 4;
        ELSIF v_open <> p_pool THEN
            v_verdict := 2;
        ELSIF v_balance < p_amount THEN
            v_verdict := 3;
        ELSE
            UPDATE market_accounts SET balance = balance - p_amount, staked = staked + p_amount WHERE id = v_id;
            INSERT INTO market_predictions (pool, account, outcome, amount)
                VALUES (p_pool, v_id, p_outcome, p_amount);
            v_verdict := 1;
            v_balance := v_balance - p_amount;
        END IF;
    END IF;
END $$";

/// Takes a game's lock alone and finds an event.
const SETTLE: &str = "
CREATE OR REPLACE FUNCTION market_settle(p_game INTEGER, p_number BIGINT, p_outcome SMALLINT,
    OUT v_open BIGINT, OUT v_home BIGINT, OUT v_away BIGINT, OUT v_outcome SMALLINT, OUT v_pool BIGINT,
    OUT v_winners BIGINT, OUT v_home_score BIGINT, OUT v_away_score BIGINT)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1835102827, p_game);
    SELECT open_pool, home_score, away_score INTO v_open, v_home, v_away
        FROM market_games WHERE id = p_game FOR UPDATE;
    INSERT INTO market_events (game, number, outcome, announced)
        SELECT p_game, p_number, p_outcome, 0
        WHERE NOT EXISTS (SELECT 1 FROM market_events e WHERE e.game = p_game AND e.number = p_number);
    SELECT outcome, pool, winners, home_score, away_score
        INTO v_outcome, v_pool, v_winners, v_home_score, v_away_score
        FROM market_events WHERE game = p_game AND number = p_number;
END $$";

/// Pays what was inserted into the payouts of a pool, opens the next pool and marks the event.
const PAY: &str = "
CREATE OR REPLACE FUNCTION market_pay(p_game BIGINT, p_number BIGINT, p_outcome SMALLINT, p_pool BIGINT,
    p_next BIGINT, p_home BIGINT, p_away BIGINT, p_nobody BIGINT, p_winners BIGINT,
    p_home_score BIGINT, p_away_score BIGINT) RETURNS BIGINT
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM a.id FROM market_accounts a JOIN market_payouts p ON p.account = a.id
        WHERE p.pool = p_pool ORDER BY a.id FOR UPDATE OF a;
    UPDATE market_accounts a SET balance = a.balance + p.amount, staked = a.staked - p.staked
        FROM market_payouts p WHERE p.account = a.id AND p.pool = p_pool;
    UPDATE market_pools SET outcome = p_outcome, home = p_home, away = p_away, nobody = p_nobody
        WHERE id = p_pool;
    INSERT INTO market_pools (id, game) VALUES (p_next, p_game);
    UPDATE market_games SET open_pool = p_next, home_score = p_home_score, away_score = p_away_score
        WHERE id = p_game;
    UPDATE market_events SET pool = p_pool, winners = p_winners, home_score = p_home_score,
        away_score = p_away_score WHERE game = p_game AND number = p_number;
    RETURN 1;
END $$";

pub(super) const DIALECT: Dialect = Dialect {
    serial: "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    name: "BYTEA",
    engine: "",
    routines: &[ACCOUNT, OPEN, PREDICT, SETTLE, PAY],
    ledger_routines: &[ledgers::ACCEPT, ledgers::DECIDE, ledgers::TAKE],
    tables: "SELECT CAST(table_name AS TEXT) FROM information_schema.tables \
             WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
    routine: "SELECT count(*) FROM information_schema.routines \
        WHERE routine_schema = current_schema() AND CAST(routine_name AS TEXT) = CAST(? AS TEXT)",
    // Numbers of locks belong to the database: "mark" in ASCII. Those of games have two numbers.
    hold: "SELECT CASE WHEN pg_try_advisory_lock(1835102827) THEN 1 ELSE 0 END",
    release: "SELECT CASE WHEN pg_advisory_unlock(1835102827) THEN 1 ELSE 0 END",
    keep: "ON CONFLICT DO NOTHING",
    // Each of these is a statement of its own, so that what follows sees what was done before the lock was granted.
    share_game: Some("SELECT pg_advisory_xact_lock_shared(1835102827, CAST(? AS INTEGER))"),
    shared_game: "SELECT open_pool FROM market_games WHERE id = ?",
    take_game: Some("SELECT pg_advisory_xact_lock(1835102827, CAST(? AS INTEGER))"),
    lock_paid: Some(
        "SELECT a.id FROM market_accounts a JOIN market_payouts p ON p.account = a.id \
         WHERE p.pool = ? ORDER BY a.id FOR UPDATE OF a",
    ),
    insert_payouts: "INSERT INTO market_payouts (pool, account, staked, amount) \
        SELECT CAST(? AS BIGINT), CAST(j->>0 AS BIGINT), CAST(j->>1 AS BIGINT), CAST(j->>2 AS BIGINT) \
        FROM jsonb_array_elements(CAST(CAST(? AS TEXT) AS JSONB)) AS j",
    closed: "SELECT p.game, p.outcome, p.home, p.away, p.nobody, e.winners, e.home_score, e.away_score, e.number, \
        convert_from(a.name, 'UTF8'), y.staked, y.amount FROM market_pools p \
        JOIN market_events e ON e.game = p.game AND e.pool = p.id \
        LEFT JOIN (market_payouts y JOIN market_accounts a ON a.id = y.account AND a.name LIKE ?) ON y.pool = p.id \
        WHERE p.id = ? AND p.outcome IS NOT NULL",
    pay: "UPDATE market_accounts a SET balance = a.balance + p.amount, staked = a.staked - p.staked \
        FROM market_payouts p WHERE p.account = a.id AND p.pool = ?",
    close_accounts: "UPDATE market_accounts SET closing = 1 WHERE id IN \
        (SELECT id FROM market_accounts WHERE name IN ({names}) ORDER BY id FOR UPDATE)",
    call_open: "SELECT v_verdict, v_balance, v_opened FROM market_open(?, ?, ?)",
    call_predict: "SELECT v_verdict, v_balance, v_opened, v_open \
        FROM market_predict(?, ?, ?, ?, ?, ?, ?)",
    call_accept: "SELECT v_verdict, v_balance, v_opened, v_open, v_returned \
        FROM market_accept(?, ?, ?, ?, ?, ?, ?)",
    call_decide: "SELECT v_taken, v_refused, v_returned FROM market_conclude(?, ?)",
    call_take: "SELECT market_take(?, ?, ?)",
    call_settle: "SELECT v_open, v_home, v_away, v_outcome, v_pool, v_winners, v_home_score, v_away_score \
        FROM market_settle(?, ?, ?)",
    call_pay: "SELECT market_pay(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};
