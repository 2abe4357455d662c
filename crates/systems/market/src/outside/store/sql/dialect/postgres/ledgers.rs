//! Functions of regional ledgers and of the store that owns their pools.

/// Accepts a prediction in a ledger: as `market_predict` does, and leaves it in the outbox. Also says how much has
/// come back of which the user does not know.
pub(super) const ACCEPT: &str = "
CREATE OR REPLACE FUNCTION market_accept(p_pool BIGINT, p_game INTEGER, p_name BYTEA, p_outcome SMALLINT,
    p_amount BIGINT, p_start BIGINT, p_room SMALLINT,
    OUT v_verdict BIGINT, OUT v_balance BIGINT, OUT v_opened BIGINT, OUT v_open BIGINT, OUT v_returned BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
    v_id BIGINT;
    v_entry BIGINT;
BEGIN
    v_verdict := 0;
    v_balance := 0;
    v_opened := 0;
    v_returned := 0;
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
                VALUES (p_pool, v_id, p_outcome, p_amount) RETURNING id INTO v_entry;
            INSERT INTO market_outbox (id) VALUES (v_entry);
            v_verdict := 1;
            v_balance := v_balance - p_amount;
        END IF;
        DELETE FROM market_unreported WHERE account = v_id RETURNING amount INTO v_returned;
        v_returned := coalesce(v_returned, 0);
    END IF;
END $$";

/// Marks predictions in the outbox as taken, and gives the money of refused ones back. What is no longer in the
/// outbox was decided before, and is left alone: another process that decides the same waits for the rows, and then
/// finds none. Answers how many were taken, how many refused, and the cents that went back.
pub(super) const DECIDE: &str = "
CREATE OR REPLACE FUNCTION market_conclude(p_taken TEXT, p_refused TEXT,
    OUT v_taken BIGINT, OUT v_refused BIGINT, OUT v_returned BIGINT)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM id FROM market_outbox
        WHERE id IN (SELECT CAST(j AS BIGINT) FROM jsonb_array_elements_text(p_refused::jsonb) j)
        ORDER BY id FOR UPDATE;
    DELETE FROM market_outbox WHERE id IN (SELECT CAST(j AS BIGINT) FROM jsonb_array_elements_text(p_taken::jsonb) j);
    GET DIAGNOSTICS v_taken = ROW_COUNT;
    INSERT INTO market_refunds (id, account, amount)
        SELECT s.id, s.account, s.amount FROM jsonb_array_elements_text(p_refused::jsonb) j
        JOIN market_outbox o ON o.id = CAST(j AS BIGINT) JOIN market_predictions s ON s.id = o.id;
    GET DIAGNOSTICS v_refused = ROW_COUNT;
    SELECT coalesce(sum(r.amount), 0) INTO v_returned
        FROM market_outbox o JOIN market_refunds r ON r.id = o.id;
    IF v_returned > 0 THEN
        UPDATE market_accounts a SET balance = a.balance + n.amount, staked = a.staked - n.amount
            FROM (SELECT r.account, sum(r.amount) AS amount
                FROM market_outbox o JOIN market_refunds r ON r.id = o.id GROUP BY r.account) n
            WHERE n.account = a.id;
        INSERT INTO market_unreported AS u (account, amount)
            SELECT r.account, sum(r.amount) FROM market_outbox o JOIN market_refunds r ON r.id = o.id
            GROUP BY r.account ON CONFLICT (account) DO UPDATE SET amount = u.amount + excluded.amount;
        DELETE FROM market_outbox o USING market_refunds r WHERE r.id = o.id;
    END IF;
END $$";

/// Takes predictions of a ledger, whose row is its lock, into a game's open pool, each once; answers which of them are in their pools.
/// Those that are not never will be: their pool is settled.
pub(super) const TAKE: &str = "
CREATE OR REPLACE FUNCTION market_take(p_ledger BIGINT, p_game INTEGER, p_entries TEXT) RETURNS SETOF BIGINT
LANGUAGE plpgsql AS $$
DECLARE
    v_open BIGINT;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1835102827, p_game);
    SELECT open_pool INTO v_open FROM market_games WHERE id = p_game;
    INSERT INTO market_ledgers (id) VALUES (p_ledger) ON CONFLICT DO NOTHING;
    PERFORM id FROM market_ledgers WHERE id = p_ledger FOR UPDATE;
    INSERT INTO market_entries (ledger, entry, account, pool, outcome, amount, fresh)
        SELECT p_ledger, j.entry, j.account, j.pool, j.outcome, j.amount, 1
        FROM (SELECT CAST(i->>0 AS BIGINT) AS entry, CAST(i->>1 AS BIGINT) AS account,
            CAST(i->>2 AS BIGINT) AS pool, CAST(i->>3 AS SMALLINT) AS outcome, CAST(i->>4 AS BIGINT) AS amount
            FROM jsonb_array_elements(p_entries::jsonb) i) j
        WHERE j.pool = v_open
        AND NOT EXISTS (SELECT 1 FROM market_entries e WHERE e.ledger = p_ledger AND e.entry = j.entry);
    INSERT INTO market_accounts (name, balance, staked, deposited, withdrawn, closing)
        SELECT DISTINCT convert_to('l' || e.ledger || '.' || e.account, 'UTF8'), 0, 0, 0, 0, 1
        FROM market_entries e WHERE e.ledger = p_ledger AND e.fresh = 1 ON CONFLICT DO NOTHING;
    INSERT INTO market_predictions (pool, account, outcome, amount)
        SELECT e.pool, a.id, e.outcome, e.amount FROM market_entries e
        JOIN market_accounts a ON a.name = convert_to('l' || e.ledger || '.' || e.account, 'UTF8')
        WHERE e.ledger = p_ledger AND e.fresh = 1;
    UPDATE market_accounts a SET staked = a.staked + n.amount, deposited = a.deposited + n.amount
        FROM (SELECT ledger, account, sum(amount) AS amount FROM market_entries
            WHERE ledger = p_ledger AND fresh = 1 GROUP BY ledger, account) n
        WHERE a.name = convert_to('l' || n.ledger || '.' || n.account, 'UTF8');
    UPDATE market_entries SET fresh = 0 WHERE ledger = p_ledger AND fresh = 1;
    RETURN QUERY SELECT e.entry FROM jsonb_array_elements(p_entries::jsonb) i
        JOIN market_entries e ON e.ledger = p_ledger AND e.entry = CAST(i->>0 AS BIGINT);
END $$";
