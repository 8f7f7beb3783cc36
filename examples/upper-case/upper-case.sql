-- Messages in capitals, without those that are empty.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM messages (sender STRING KEY, text STRING)
  WITH (KAFKA_TOPIC = 'chat_messages', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A row that WHERE does not let through is written nowhere. NULL is neither equal to '' nor different from it: such a row is
-- left out, too.
CREATE STREAM loud WITH (KAFKA_TOPIC = 'chat_loud') AS
SELECT sender, UCASE(text) AS text
FROM messages
WHERE TRIM(text) <> ''
EMIT CHANGES;
