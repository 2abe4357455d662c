//! The statements of MariaDB from 10.6 and MySQL from 8.0.
//!
//! A game's row is its lock: InnoDB grants the locks of a row in the order in which they were requested, so that
//! predictions do not keep a settlement waiting.

mod ledgers;

use super::Dialect;

/// Finds, opens or reopens an account and locks it, within a transaction.
const ACCOUNT: &str = "
CREATE PROCEDURE market_account(IN p_name VARBINARY(1024), IN p_start BIGINT, IN p_room SMALLINT,
    OUT v_id BIGINT, OUT v_balance BIGINT, OUT v_opened BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_staked, v_closing BIGINT;
    SET v_id = NULL, v_opened = 0;
    SELECT id, balance, staked, closing INTO v_id, v_balance, v_staked, v_closing
        FROM market_accounts WHERE name = p_name FOR UPDATE;
    IF v_id IS NULL AND p_room = 1 THEN
        INSERT INTO market_accounts (name, balance, staked, deposited, withdrawn, closing)
            VALUES (p_name, p_start, 0, p_start, 0, 0) ON DUPLICATE KEY UPDATE id = id;
        SET v_opened = 1;
        SELECT id, balance, staked, closing INTO v_id, v_balance, v_staked, v_closing
            FROM market_accounts WHERE name = p_name FOR UPDATE;
    END IF;
    IF v_closing = 1 AND v_staked = 0 THEN
        UPDATE market_accounts SET withdrawn = withdrawn + balance, deposited = deposited + p_start,
            balance = p_start, closing = 0 WHERE id = v_id;
        SET v_balance = p_start;
    END IF;
END";

const OPEN: &str = "
CREATE PROCEDURE market_open(IN p_name VARBINARY(1024), IN p_start BIGINT, IN p_room SMALLINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_id, v_balance, v_opened BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    CALL market_account(p_name, p_start, p_room, v_id, v_balance, v_opened);
    COMMIT;
    SELECT IF(v_id IS NULL, 4, 1), coalesce(v_balance, 0), v_opened;
END";

const PREDICT: &str = "
CREATE PROCEDURE market_predict(IN p_pool BIGINT, IN p_game BIGINT, IN p_name VARBINARY(1024),
    IN p_outcome SMALLINT, IN p_amount BIGINT, IN p_start BIGINT, IN p_room SMALLINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_verdict, v_open, v_id, v_balance, v_opened BIGINT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT open_pool INTO v_open FROM market_games WHERE id = p_game LOCK IN SHARE MODE;
    IF v_open >= p_pool THEN
        CALL market_account(p_name, p_start, p_room, v_id, v_balance, v_opened);
        IF v_id IS NULL THEN
            SET v_verdict = 4, v_balance = 0;
        ELSEIF v_open <> p_pool THEN
            SET v_verdict = 2;
        ELSEIF v_balance < p_amount THEN
            SET v_verdict = 3;
        ELSE
            UPDATE market_accounts SET balance = balance - p_amount, staked = staked + p_amount WHERE id = v_id;
            INSERT INTO market_predictions (pool, account, outcome, amount)
                VALUES (p_pool, v_id, p_outcome, p_amount);
            SET v_verdict = 1, v_balance = v_balance - p_amount;
        END IF;
    END IF;
    COMMIT;
    SELECT v_verdict, v_balance, v_opened, v_open;
END";

/// Takes a game's lock alone and finds an event, within a transaction.
const SETTLE: &str = "
CREATE PROCEDURE market_settle(IN p_game BIGINT, IN p_number BIGINT, IN p_outcome SMALLINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_open, v_home, v_away, v_event BIGINT;
    SELECT open_pool, home_score, away_score INTO v_open, v_home, v_away
        FROM market_games WHERE id = p_game FOR UPDATE;
    SELECT id INTO v_event FROM market_events WHERE game = p_game AND number = p_number;
    IF v_event IS NULL THEN
        INSERT INTO market_events (game, number, outcome, announced) VALUES (p_game, p_number, p_outcome, 0);
    END IF;
    SELECT v_open, v_home, v_away, outcome, pool, winners, home_score, away_score
        FROM market_events WHERE game = p_game AND number = p_number;
END";

/// Pays what was inserted into the payouts of a pool, opens the next pool and marks the event, within a transaction.
const PAY: &str = "
CREATE PROCEDURE market_pay(IN p_game BIGINT, IN p_number BIGINT, IN p_outcome SMALLINT, IN p_pool BIGINT,
    IN p_next BIGINT, IN p_home BIGINT, IN p_away BIGINT, IN p_nobody BIGINT, IN p_winners BIGINT,
    IN p_home_score BIGINT, IN p_away_score BIGINT)
MODIFIES SQL DATA
BEGIN
    UPDATE market_payouts p STRAIGHT_JOIN market_accounts a ON a.id = p.account
        SET a.balance = a.balance + p.amount, a.staked = a.staked - p.staked WHERE p.pool = p_pool;
    UPDATE market_pools SET outcome = p_outcome, home = p_home, away = p_away, nobody = p_nobody
        WHERE id = p_pool;
    INSERT INTO market_pools (id, game) VALUES (p_next, p_game);
    UPDATE market_games SET open_pool = p_next, home_score = p_home_score, away_score = p_away_score
        WHERE id = p_game;
    UPDATE market_events SET pool = p_pool, winners = p_winners, home_score = p_home_score,
        away_score = p_away_score WHERE game = p_game AND number = p_number;
END";

pub(super) const DIALECT: Dialect = Dialect {
    serial: "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
    name: "VARBINARY(1024)",
    engine: "ENGINE = InnoDB DEFAULT CHARSET = utf8mb4",
    routines: &[
        "DROP PROCEDURE IF EXISTS market_predict",
        "DROP PROCEDURE IF EXISTS market_open",
        "DROP PROCEDURE IF EXISTS market_account",
        "DROP PROCEDURE IF EXISTS market_settle",
        "DROP PROCEDURE IF EXISTS market_pay",
        ACCOUNT,
        OPEN,
        PREDICT,
        SETTLE,
        PAY,
    ],
    ledger_routines: &[
        "DROP PROCEDURE IF EXISTS market_accept",
        "DROP PROCEDURE IF EXISTS market_conclude",
        "DROP PROCEDURE IF EXISTS market_take",
        ledgers::ACCEPT,
        ledgers::DECIDE,
        ledgers::TAKE,
    ],
    tables: "SELECT CAST(table_name AS CHAR(64)) FROM information_schema.tables \
             WHERE table_schema = database()",
    routine: "SELECT count(*) FROM information_schema.routines \
        WHERE routine_schema = database() AND routine_name = ?",
    // Names of locks are global to the server, and at most 64 characters long.
    hold: "SELECT get_lock(concat('market.', left(database(), 57)), 0)",
    release: "SELECT release_lock(concat('market.', left(database(), 57)))",
    keep: "ON DUPLICATE KEY UPDATE id = id",
    share_game: None,
    shared_game: "SELECT open_pool FROM market_games WHERE id = ? LOCK IN SHARE MODE",
    take_game: None,
    // The join below reads the payouts of a pool in the order of the accounts.
    lock_paid: None,
    insert_payouts: "INSERT INTO market_payouts (pool, account, staked, amount) \
        SELECT CAST(? AS SIGNED), j.account, j.staked, j.amount FROM JSON_TABLE(?, '$[*]' COLUMNS \
        (account BIGINT PATH '$[0]', staked BIGINT PATH '$[1]', amount BIGINT PATH '$[2]')) AS j",
    closed: "SELECT p.game, p.outcome, p.home, p.away, p.nobody, e.winners, e.home_score, e.away_score, e.number, \
        CAST(a.name AS CHAR(64)), y.staked, y.amount FROM market_pools p \
        JOIN market_events e ON e.game = p.game AND e.pool = p.id \
        LEFT JOIN (market_payouts y JOIN market_accounts a ON a.id = y.account AND a.name LIKE ?) ON y.pool = p.id \
        WHERE p.id = ? AND p.outcome IS NOT NULL",
    pay: "UPDATE market_payouts p STRAIGHT_JOIN market_accounts a ON a.id = p.account \
        SET a.balance = a.balance + p.amount, a.staked = a.staked - p.staked WHERE p.pool = ?",
    close_accounts: "UPDATE market_accounts SET closing = 1 WHERE name IN ({names})",
    call_open: "CALL market_open(?, ?, ?)",
    call_predict: "CALL market_predict(?, ?, ?, ?, ?, ?, ?)",
    call_accept: "CALL market_accept(?, ?, ?, ?, ?, ?, ?)",
    call_decide: "CALL market_conclude(?, ?)",
    call_take: "CALL market_take(?, ?, ?)",
    call_settle: "CALL market_settle(?, ?, ?)",
    call_pay: "CALL market_pay(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};
