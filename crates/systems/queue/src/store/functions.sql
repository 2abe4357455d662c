-- Every operation is one function, and one round trip. They raise the error of a reference to nothing (23503) if there is no
-- such queue, as the insert of a message does.

CREATE OR REPLACE FUNCTION queue_create(_creator int) RETURNS int LANGUAGE sql AS $$
    INSERT INTO queue (creator_id) VALUES (_creator) RETURNING id;
$$;

CREATE OR REPLACE FUNCTION queue_must_exist(_queue int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM queue WHERE id = _queue;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no queue %', _queue USING ERRCODE = '23503';
    END IF;
END;
$$;

CREATE OR REPLACE FUNCTION queue_delete(_queue int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    _count int;
BEGIN
    -- Sends to the queue wait for this lock, and then fail.
    PERFORM 1 FROM queue WHERE id = _queue FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM queue_must_exist(_queue);
    END IF;
    DELETE FROM message WHERE queue_id = _queue;
    GET DIAGNOSTICS _count = ROW_COUNT;
    DELETE FROM queue WHERE id = _queue;
    -- Pops that wait for its messages wait for nothing. Deletions are rare, so that all of them notify.
    PERFORM pg_notify('throng_queue', _queue || ' deleted');
    RETURN _count;
END;
$$;

CREATE OR REPLACE FUNCTION queue_send(_queue int, _sender int, _receiver int, _text text, _notify boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _id bigint;
BEGIN
    INSERT INTO message (sender_id, receiver_id, queue_id, message) VALUES (_sender, _receiver, _queue, _text)
    RETURNING id INTO _id;
    IF _notify THEN
        PERFORM pg_notify('throng_queue', _queue || ' ' || coalesce(_receiver, 0));
    END IF;
    RETURN _id;
END;
$$;

-- No row is a row of nulls.
CREATE OR REPLACE FUNCTION queue_peek(_queue int, _receiver int) RETURNS message LANGUAGE plpgsql STABLE AS $$
DECLARE
    _oldest message;
BEGIN
    SELECT * INTO _oldest FROM message
    WHERE queue_id = _queue AND (receiver_id IS NULL OR receiver_id = _receiver)
    ORDER BY queue_id, arrival_time LIMIT 1;
    IF NOT FOUND THEN
        PERFORM queue_must_exist(_queue);
    END IF;
    RETURN _oldest;
END;
$$;

CREATE OR REPLACE FUNCTION queue_pop_skip(_queue int, _receiver int) RETURNS message LANGUAGE plpgsql AS $$
DECLARE
    _oldest message;
BEGIN
    SELECT * INTO _oldest FROM message
    WHERE queue_id = _queue AND (receiver_id IS NULL OR receiver_id = _receiver)
    ORDER BY queue_id, arrival_time LIMIT 1
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        DELETE FROM message WHERE id = _oldest.id;
    ELSE
        PERFORM queue_must_exist(_queue);
    END IF;
    RETURN _oldest;
END;
$$;

CREATE OR REPLACE FUNCTION queue_pop_lock(_queue int, _receiver int) RETURNS message LANGUAGE plpgsql AS $$
DECLARE
    _oldest message;
BEGIN
    LOOP
        SELECT * INTO _oldest FROM message
        WHERE queue_id = _queue AND (receiver_id IS NULL OR receiver_id = _receiver)
        ORDER BY queue_id, arrival_time LIMIT 1
        FOR UPDATE;
        IF FOUND THEN
            DELETE FROM message WHERE id = _oldest.id;
            RETURN _oldest;
        END IF;
        -- A pop that waited for a row which another one deleted finds nothing, though there may be more: the limit
        -- counts rows before they are locked.
        PERFORM 1 FROM message
        WHERE queue_id = _queue AND (receiver_id IS NULL OR receiver_id = _receiver)
        LIMIT 1;
        IF NOT FOUND THEN
            PERFORM queue_must_exist(_queue);
            RETURN _oldest;
        END IF;
    END LOOP;
END;
$$;

CREATE OR REPLACE FUNCTION queue_waiting(_receiver int, _limit int) RETURNS SETOF int LANGUAGE sql STABLE AS $$
    SELECT DISTINCT queue_id FROM message WHERE receiver_id = _receiver ORDER BY queue_id LIMIT _limit;
$$;

-- Ends before the texts have more bytes than this, but not before the first.
CREATE OR REPLACE FUNCTION queue_sent(_sender int, _receiver int, _limit int, _bytes bigint)
RETURNS SETOF message LANGUAGE plpgsql STABLE AS $$
DECLARE
    _next message;
    _sum bigint := 0;
BEGIN
    FOR _next IN
        SELECT * FROM message
        WHERE sender_id = _sender AND (receiver_id IS NULL OR receiver_id = _receiver)
        ORDER BY sender_id, arrival_time LIMIT _limit
    LOOP
        EXIT WHEN _sum > 0 AND _sum + octet_length(_next.message) > _bytes;
        _sum := _sum + octet_length(_next.message);
        RETURN NEXT _next;
    END LOOP;
END;
$$;
