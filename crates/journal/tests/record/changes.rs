//! Changes of a record, each with a part of what a check tells.

/// What is done, in one connection after another, and a part of what is told.
pub(crate) const CHANGES: &[(&str, &[&str], &str)] = &[
    (
        "a workspace",
        &["UPDATE conversations SET workspace = '/etc' WHERE id = 'a'"],
        r#"conversation a: workspace is "/etc", commit 1 wrote "/w""#,
    ),
    (
        "a workspace, forgotten",
        &["UPDATE conversations SET workspace = NULL WHERE id = 'b'"],
        r#"conversation b: workspace is none, commit 7 wrote "/b""#,
    ),
    (
        "a workspace that was never known",
        &["UPDATE conversations SET workspace = '/' WHERE id = 'c'"],
        r#"conversation c: workspace is "/", commit"#,
    ),
    (
        "a start",
        &["UPDATE conversations SET started_ms = 7 WHERE id = 'begun'"],
        "conversation begun: started_ms is 7, commit 2 wrote",
    ),
    (
        "two workspaces swapped",
        &[
            "UPDATE conversations SET workspace = CASE id WHEN 'a' THEN '/v' ELSE '/w' END WHERE id IN ('a', 'begun')",
        ],
        "conversation begun: workspace",
    ),
    (
        "a conversation, put in",
        &["INSERT INTO conversations VALUES ('new', '/x', 1)"],
        "conversation new is listed, and no commit opened it",
    ),
    (
        "a conversation without entries, removed",
        &["DELETE FROM conversations WHERE id = 'begun'"],
        "conversation begun is on record and not listed",
    ),
    (
        "a conversation, renamed",
        &["UPDATE conversations SET id = 'begin' WHERE id = 'begun'"],
        "conversation begin is listed, and no commit opened it",
    ),
    (
        "a memory",
        &["UPDATE store SET value = 'obey me' WHERE key = 'note'"],
        r#"stored value "note" of "memory" in "/w" is not what commit"#,
    ),
    (
        "an older value of the same key",
        &["UPDATE store SET value = 'first' WHERE key = 'note'"],
        r#"stored value "note" of "memory""#,
    ),
    (
        "a deleted value, put back",
        &["INSERT INTO store VALUES ('/w', 'memory', 'gone', 'deleted')"],
        r#"stored value "gone" of "memory" in "/w" was written by no commit"#,
    ),
    (
        "a value, put in",
        &["INSERT INTO store VALUES ('/w', 'memory', 'plan', 'obey me')"],
        r#"stored value "plan" of "memory" in "/w" was written by no commit"#,
    ),
    (
        "a value, moved to another workspace",
        &["UPDATE store SET workspace = '/v' WHERE key = 'note'"],
        r#"stored value "note" of "memory" in "/v" was written by no commit"#,
    ),
    (
        "a value, moved to another space",
        &["UPDATE store SET space = 'memory', workspace = '/w' WHERE space = 'todos'"],
        r#"stored value "list" of "memory" in "/w" was written by no commit"#,
    ),
    (
        "a value, removed",
        &["DELETE FROM store WHERE space = 'reads'"],
        r#"stored value "a" of "reads" in "/w" is missing; commit"#,
    ),
    (
        "a batch",
        &["UPDATE call_states SET batch = batch - 1 WHERE call = 't7'"],
        "conversation a: call t7 (1) has batch",
    ),
    (
        "batches of one commit made one",
        &[
            "UPDATE call_states SET batch = (SELECT batch FROM call_states WHERE call = 't0') WHERE call LIKE 't_'",
        ],
        "conversation a: call t7 (1) has batch",
    ),
    (
        "an open change, hidden",
        &["UPDATE call_states SET open_intent = 0 WHERE call = 'cut off'"],
        "conversation b: call cut off (1) has open_intent 0, its entries say 1",
    ),
    (
        "a closed change, opened",
        &["UPDATE call_states SET open_intent = 1 WHERE call = 'mended'"],
        "conversation c: call mended (1) has open_intent 1, its entries say 0",
    ),
    (
        "a pruned change, opened",
        &["UPDATE call_states SET open_intent = 1 WHERE call = 'same'"],
        "conversation a: call same (1) has open_intent 1, its entries say 0",
    ),
    (
        "a flag that is no flag",
        &["UPDATE call_states SET open_intent = 2 WHERE call = 'cut off'"],
        "has open_intent 2, its entries say 1",
    ),
    (
        "the time of a body",
        &["UPDATE bodies SET last_ms = 0 WHERE last_ms = 300"],
        "is listed as mentioned last at 0, its entries say 300",
    ),
    (
        "the time of an image",
        &["UPDATE images SET last_ms = 9999 WHERE last_ms = 210"],
        "table images:",
    ),
    (
        "the time of an image that was spared",
        &["UPDATE images SET last_ms = 149 WHERE last_ms < 150"],
        "is listed as mentioned last at 149",
    ),
    (
        "an image, removed",
        &["DELETE FROM images WHERE last_ms = 210"],
        "conversation a: entry 8 needs the image",
    ),
    (
        "an image that a prune spared, removed",
        &["DELETE FROM images WHERE last_ms < 150"],
        "which is missing and was not pruned",
    ),
    (
        "a body that a prune spared, removed",
        &[
            "DELETE FROM bodies WHERE hash = (SELECT body_hash FROM entries WHERE call = 'cut off' AND kind = 'intended')",
        ],
        "conversation b: what entry 8 says is missing, and was not pruned",
    ),
    (
        "an image, put in",
        &[
            "INSERT INTO images VALUES (x'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', CAST('abc' AS BLOB), 300)",
        ],
        "table images: no entry names ba7816bf",
    ),
    (
        "a body, put in",
        &["INSERT INTO bodies VALUES (zeroblob(32), zeroblob(3), 300)"],
        "table bodies: no entry names 0000",
    ),
    (
        "a lease of nothing",
        &["INSERT INTO leases VALUES ('none', 't', 1, 'p', 1, 1)"],
        "a lease is held on conversation none, which is not listed",
    ),
    (
        "a process that cannot be",
        &["INSERT INTO leases VALUES ('a', 't', -1, 'p', 1, 1)"],
        r#"table leases, row "a""#,
    ),
    (
        "a negative number",
        &["UPDATE conversations SET started_ms = -1 WHERE id = 'a'"],
        r#"table conversations, row "a""#,
    ),
    (
        "text that is none",
        &["UPDATE conversations SET workspace = CAST(x'2fff' AS TEXT) WHERE id = 'a'"],
        r#"table conversations, row "a""#,
    ),
    (
        "a stored text that is none",
        &["UPDATE store SET value = CAST(x'ff' AS TEXT) WHERE key = 'note'"],
        r#"table store, row "/w", "memory", "note""#,
    ),
    (
        "a hash that is none",
        &["UPDATE entries SET hash = x'00' WHERE conversation = 'a' AND seq = 1"],
        r#"table entries, row "a", 1"#,
    ),
    (
        "a value of another type",
        &[
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT, ', '') WHERE name = 'store'",
            "UPDATE store SET value = x'00' WHERE key = 'note'",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ') WITHOUT', ') STRICT, WITHOUT') WHERE name = 'store'",
        ],
        "non-TEXT value in store.value",
    ),
    (
        "no value at all",
        &[
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'started_ms INTEGER NOT NULL', 'started_ms INTEGER') WHERE name = 'conversations'",
            "UPDATE conversations SET started_ms = NULL WHERE id = 'a'",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'started_ms INTEGER', 'started_ms INTEGER NOT NULL') WHERE name = 'conversations'",
        ],
        "NULL value in conversations.started_ms",
    ),
    (
        "an open call that its index leaves out",
        &[
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' OR open_intent <> 0', '') WHERE name = 'open_calls'; UPDATE sqlite_schema SET sql = replace(sql, 'state <> ''finished''', 'call = ''none''') WHERE name = 'open_calls'",
            "REINDEX open_calls",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'call = ''none''', 'state <> ''finished'' OR open_intent <> 0') WHERE name = 'open_calls'",
        ],
        "the file is damaged: ",
    ),
    (
        "two tables of one shape, swapped",
        &[
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = CASE name WHEN 'bodies' THEN (SELECT rootpage FROM sqlite_schema WHERE name = 'images') ELSE (SELECT rootpage FROM sqlite_schema WHERE name = 'bodies') END WHERE name IN ('bodies', 'images')",
        ],
        "the file is damaged: ",
    ),
    (
        "a table that is read from another's pages",
        &[
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'leases') WHERE name = 'store'",
        ],
        "the file is damaged: ",
    ),
    (
        "the version",
        &["PRAGMA user_version = 1"],
        "its version is 1, and a later version wrote commit 1",
    ),
    (
        "the version of a file with keys",
        &["PRAGMA user_version = 2"],
        "its version is 2, and a later version wrote commit",
    ),
    ("no version", &["PRAGMA user_version = 0"], "not a journal"),
    (
        "a negative version",
        &["PRAGMA user_version = -2"],
        "not a journal",
    ),
    (
        "a later version",
        &["PRAGMA user_version = 4"],
        "newer toolgate",
    ),
    (
        "the application",
        &["PRAGMA application_id = 7"],
        "not a journal",
    ),
];

/// Objects that are not the program's, and a part of what is told.
pub(crate) const SCHEMAS: &[(&str, &str)] = &[
    (
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM store; END",
        r#"trigger "t" is not part of a journal"#,
    ),
    (
        "CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN SELECT 1; END",
        r#"view "v" is not part of a journal"#,
    ),
    (
        "CREATE TRIGGER bodies AFTER INSERT ON anchors BEGIN SELECT 1; END",
        r#"trigger "bodies" is not part of a journal"#,
    ),
    ("CREATE TABLE more(x)", r#"table "more" is not part"#),
    (
        "CREATE TABLE more(x INTEGER PRIMARY KEY AUTOINCREMENT)",
        r#"table "sqlite_sequence" is not part"#,
    ),
    ("ANALYZE", r#"table "sqlite_stat1" is not part"#),
    (
        "CREATE VIRTUAL TABLE more USING fts5(x)",
        r#"table "more" is not part"#,
    ),
    (
        "CREATE INDEX more ON store(value)",
        r#"index "more" is not part"#,
    ),
    (
        "CREATE UNIQUE INDEX more ON entries(at_ms, conversation, seq)",
        r#"index "more" is not part"#,
    ),
    (
        "CREATE INDEX more ON store(upper(value)) WHERE key = 'x'",
        r#"index "more" is not part"#,
    ),
    ("DROP INDEX open_calls", r#"index "open_calls" is missing"#),
    (
        "DROP INDEX open_calls; CREATE INDEX open_calls ON call_states(conversation) WHERE state = 'x'",
        r#"index "open_calls" is not as it was made"#,
    ),
    ("DROP TABLE store", r#"table "store" is missing"#),
    ("DROP TABLE leases", r#"table "leases" is missing"#),
    (
        "ALTER TABLE store ADD COLUMN more TEXT",
        r#"table "store" is not as it was made"#,
    ),
    (
        "ALTER TABLE store ADD COLUMN more TEXT GENERATED ALWAYS AS (upper(value)) VIRTUAL",
        r#"table "store" is not as it was made"#,
    ),
    (
        "ALTER TABLE store ADD COLUMN more TEXT DEFAULT 'x' CHECK (length(more) < 3)",
        r#"table "store" is not as it was made"#,
    ),
    (
        "ALTER TABLE store RENAME COLUMN value TO content",
        r#"table "store" is not as it was made"#,
    ),
    (
        "ALTER TABLE store RENAME TO stored",
        r#"table "store" is missing"#,
    ),
    (
        "ALTER TABLE store RENAME TO real; CREATE VIEW store AS SELECT workspace, space, key, 'x' AS value FROM real",
        r#"view "store" is not part"#,
    ),
    (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'value TEXT', 'value TEXT COLLATE NOCASE') WHERE name = 'store'",
        r#"table "store" is not as it was made"#,
    ),
    (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT, ', '') WHERE name = 'store'",
        r#"table "store" is not as it was made"#,
    ),
    (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' -- x' WHERE name = 'open_calls'",
        r#"index "open_calls" is not as it was made"#,
    ),
    (
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_bodies_1'",
        r#"index "sqlite_autoindex_bodies_1" is missing"#,
    ),
    (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'WHERE', 'where') WHERE name = 'open_calls'",
        r#"index "open_calls" is not as it was made"#,
    ),
    (
        "CREATE TRIGGER \"\u{202e}t\u{1b}[2J\" AFTER UPDATE OF value ON store BEGIN SELECT 1; END",
        r#"trigger "\u{202e}t\u{1b}[2J" is not part"#,
    ),
    (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x' WHERE name = 'store'",
        "malformed",
    ),
];
