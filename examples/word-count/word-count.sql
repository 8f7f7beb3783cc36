-- How often each word occurs in lines of text.

-- Queries read their topics from the first record on.
SET 'auto.offset.reset' = 'earliest';

-- One record a line. The key is the page of the book.
CREATE STREAM lines (page INT KEY, line STRING)
  WITH (KAFKA_TOPIC = 'book_lines', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A row a word. SPLIT makes an array of a line, EXPLODE a row of each element of the array.
CREATE STREAM words WITH (KAFKA_TOPIC = 'book_words') AS
SELECT page, EXPLODE(SPLIT(LCASE(line), ' ')) AS word
FROM lines
EMIT CHANGES;

-- A row of the table a word. Two spaces side by side have an empty text between them.
CREATE TABLE counts WITH (KAFKA_TOPIC = 'book_counts') AS
SELECT word, COUNT(*) AS occurrences
FROM words
WHERE word <> ''
GROUP BY word
EMIT CHANGES;
