//! Procedures of regional ledgers and of the store that owns their pools.

/// Accepts a prediction in a ledger: as `market_predict` does, and leaves it in the outbox. Also says how much has
/// come back of which the user does not know.
pub(super) const ACCEPT: &str = "
CREATE PROCEDURE market_accept(IN p_pool BIGINT, IN p_game BIGINT, IN p_name VARBINARY(1024),
    IN p_outcome SMALLINT, IN p_amount BIGINT, IN p_start BIGINT, IN p_room SMALLINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_verdict, v_open, v_id, v_balance, v_opened, v_returned BIGINT DEFAULT 0;
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
            INSERT INTO market_outbox (id) VALUES (last_insert_id());
            SET v_verdict = 1, v_balance = v_balance - p_amount;
        END IF;
        SELECT coalesce(sum(amount), 0) INTO v_returned FROM market_unreported WHERE account = v_id;
        IF v_returned > 0 THEN
            DELETE FROM market_unreported WHERE account = v_id;
        END IF;
    END IF;
    COMMIT;
    SELECT v_verdict, v_balance, v_opened, v_open, v_returned;
END";

/// Marks predictions in the outbox as taken, and gives the money of refused ones back. What is no longer in the
/// outbox was decided before, and is left alone: another process that decides the same waits for the rows, and then
/// finds none. Answers how many were taken, how many refused, and the cents that went back.
pub(super) const DECIDE: &str = "
CREATE PROCEDURE market_conclude(IN p_taken LONGTEXT, IN p_refused LONGTEXT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_taken, v_refused, v_returned BIGINT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT count(*) INTO v_refused
        FROM JSON_TABLE(p_refused, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j
        JOIN market_outbox o ON o.id = j.id FOR UPDATE;
    DELETE o FROM market_outbox o
        JOIN JSON_TABLE(p_taken, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j ON j.id = o.id;
    SET v_taken = row_count();
    INSERT INTO market_refunds (id, account, amount)
        SELECT s.id, s.account, s.amount FROM JSON_TABLE(p_refused, '$[*]' COLUMNS (id BIGINT PATH '$')) AS j
        JOIN market_outbox o ON o.id = j.id JOIN market_predictions s ON s.id = o.id;
    SELECT coalesce(sum(r.amount), 0) INTO v_returned
        FROM market_outbox o JOIN market_refunds r ON r.id = o.id;
    IF v_returned > 0 THEN
        UPDATE market_accounts a JOIN (SELECT r.account, sum(r.amount) AS amount
                FROM market_outbox o JOIN market_refunds r ON r.id = o.id GROUP BY r.account) AS n
            ON n.account = a.id SET a.balance = a.balance + n.amount, a.staked = a.staked - n.amount;
        INSERT INTO market_unreported (account, amount)
            SELECT r.account, sum(r.amount) FROM market_outbox o JOIN market_refunds r ON r.id = o.id
            GROUP BY r.account ON DUPLICATE KEY UPDATE amount = market_unreported.amount + VALUES(amount);
        DELETE o FROM market_outbox o JOIN market_refunds r ON r.id = o.id;
    END IF;
    COMMIT;
    SELECT v_taken, v_refused, v_returned;
END";

/// Takes predictions of a ledger, whose row is its lock, into a game's open pool, each once; answers which of them are in their pools.
/// Those that are not never will be: their pool is settled.
pub(super) const TAKE: &str = "
CREATE PROCEDURE market_take(IN p_ledger BIGINT, IN p_game BIGINT, IN p_entries LONGTEXT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_open BIGINT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT open_pool INTO v_open FROM market_games WHERE id = p_game LOCK IN SHARE MODE;
    INSERT INTO market_ledgers (id) VALUES (p_ledger) ON DUPLICATE KEY UPDATE id = id;
    INSERT INTO market_entries (ledger, entry, account, pool, outcome, amount, fresh)
        SELECT p_ledger, j.entry, j.account, j.pool, j.outcome, j.amount, 1
        FROM JSON_TABLE(p_entries, '$[*]' COLUMNS (entry BIGINT PATH '$[0]', account BIGINT PATH '$[1]',
            pool BIGINT PATH '$[2]', outcome SMALLINT PATH '$[3]', amount BIGINT PATH '$[4]')) AS j
        LEFT JOIN market_entries e ON e.ledger = p_ledger AND e.entry = j.entry
        WHERE j.pool = v_open AND e.entry IS NULL;
    INSERT INTO market_accounts (name, balance, staked, deposited, withdrawn, closing)
        SELECT DISTINCT CAST(concat('l', e.ledger, '.', e.account) AS BINARY), 0, 0, 0, 0, 1
        FROM market_entries e WHERE e.ledger = p_ledger AND e.fresh = 1
        ON DUPLICATE KEY UPDATE market_accounts.id = market_accounts.id;
    INSERT INTO market_predictions (pool, account, outcome, amount)
        SELECT e.pool, a.id, e.outcome, e.amount FROM market_entries e
        JOIN market_accounts a ON a.name = CAST(concat('l', e.ledger, '.', e.account) AS BINARY)
        WHERE e.ledger = p_ledger AND e.fresh = 1;
    UPDATE market_accounts a JOIN (SELECT ledger, account, sum(amount) AS amount FROM market_entries
            WHERE ledger = p_ledger AND fresh = 1 GROUP BY ledger, account) AS n
        ON a.name = CAST(concat('l', n.ledger, '.', n.account) AS BINARY)
        SET a.staked = a.staked + n.amount, a.deposited = a.deposited + n.amount;
    UPDATE market_entries SET fresh = 0 WHERE ledger = p_ledger AND fresh = 1;
    COMMIT;
    SELECT j.entry FROM JSON_TABLE(p_entries, '$[*]' COLUMNS (entry BIGINT PATH '$[0]')) AS j
        JOIN market_entries e ON e.ledger = p_ledger AND e.entry = j.entry;
END";
