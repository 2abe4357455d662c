-- Version 1 of the tables.
CREATE TABLE queue_schema (version int NOT NULL);
INSERT INTO queue_schema VALUES (1);

CREATE TABLE queue (
    id serial PRIMARY KEY,
    creation_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    creator_id int NOT NULL
);

CREATE TABLE message (
    id bigserial PRIMARY KEY,
    sender_id int NOT NULL,
    receiver_id int, -- none: anybody
    queue_id int NOT NULL REFERENCES queue (id) ON DELETE CASCADE,
    arrival_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    message text NOT NULL
);
