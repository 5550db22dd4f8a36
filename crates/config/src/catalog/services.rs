//! Presets, providers, search, the server and the journal.

use super::{Check, Fallback, Key, MANY, Shape, YEAR_SECONDS};

const TEXT: Shape = Shape::Text(Check::Filled);
const TEXTS: Shape = Shape::list(&TEXT);
const URL: Shape = Shape::Text(Check::Url);
const VARIABLE: Shape = Shape::Text(Check::Variable);
const SECONDS: Shape = Shape::Count {
    min: 1,
    max: YEAR_SECONDS,
};
const TOKENS: Shape = Shape::Count { min: 1, max: MANY };
const LEVEL: Shape = Shape::Choice(&[
    "off", "on", "minimal", "low", "medium", "high", "xhigh", "max",
]);

/// The keys of `[defaults]`.
pub(super) const DEFAULTS: &[Key] = &[
    Key::new(
        "provider",
        TEXT,
        "The provider that is asked: one of `[providers]`, or a built-in one.",
    ),
    Key::new(
        "model",
        TEXT,
        "The model that is asked where the command line names no provider.",
    ),
    Key::new("preset", TEXT, "The preset."),
    Key::new(
        "language",
        Shape::Choice(&["auto", "en", "pt"]),
        "The language of the system prompt; `auto` follows `LC_ALL`, `LC_MESSAGES` and `LANG`.",
    )
    .or(Fallback::Text("auto")),
];

/// The keys of `[presets.NAME]`.
pub(super) const PRESET: &[Key] = &[
    Key::new("description", TEXT, "What the preset is for."),
    Key::new("model", TEXT, "The model to talk to."),
    Key::new("system_prompt", TEXT, "What the model is told first."),
    Key::new("profile", TEXT, "Under which names tools are offered."),
    Key::new(
        "trust",
        Shape::Choice(&["supervised", "guided", "autonomous"]),
        "How much is done without a question where no rule matches.",
    ),
];

/// The keys of `[providers.NAME]`.
pub(super) const PROVIDER: &[Key] = &[
    Key::new(
        "kind",
        Shape::Choice(&[
            "anthropic",
            "openai-chat",
            "openai-responses",
            "ollama",
            "fenced",
            "replay",
        ]),
        "The wire format.",
    ),
    Key::new(
        "over",
        Shape::Choice(&["anthropic", "openai-chat", "openai-responses", "ollama"]),
        "The wire whose text holds the blocks of `fenced`; `openai-chat` without it.",
    ),
    Key::new(
        "base_url",
        URL,
        "Where it is reached; the format's own address without it.",
    ),
    Key::new(
        "model",
        TEXT,
        "The model to use unless another is asked for.",
    ),
    Key::new(
        "context_tokens",
        TOKENS,
        "How many tokens the model's context has; known for well-known models.",
    ),
    Key::new("max_tokens", TOKENS, "The most tokens of one answer."),
    Key::new(
        "price_input",
        Shape::Price,
        "What a million tokens cost that the model reads, in dollars.",
    ),
    Key::new(
        "price_cached_input",
        Shape::Price,
        "The same for tokens that come from the provider's cache; `price_input` without it.",
    ),
    Key::new(
        "price_output",
        Shape::Price,
        "What a million tokens cost that the model writes, in dollars.",
    ),
    Key::new(
        "reasoning",
        Shape::Either(&[LEVEL, TOKENS]),
        "How much the model thinks: a word, or the most tokens of it.",
    ),
    Key::new(
        "images",
        Shape::Flag,
        "Whether the model takes images in results; without it yes for `anthropic` and `openai-responses`.",
    ),
    Key::new(
        "api_key_env",
        VARIABLE,
        "The environment variable that holds the key; without it the usual one of the kind, at its own address.",
    ),
    Key::new(
        "api_key_command",
        Shape::List {
            item: &TEXT,
            min: 1,
        },
        "A program with its arguments that prints the key.",
    ),
    Key::new("headers", Shape::Texts, "Further headers of every request.").secret(),
    Key::new(
        "timeout_seconds",
        SECONDS,
        "How long an answer may stay silent.",
    )
    .or(Fallback::Count(300)),
    Key::new(
        "retry_seconds",
        Shape::Count { min: 0, max: 3_600 },
        "How long a provider that is too busy is asked again and again.",
    )
    .or(Fallback::Count(180)),
    Key::new(
        "script",
        Shape::Text(Check::Path),
        "The recording that `replay` plays.",
    ),
];

/// The keys of `[search]`.
pub(super) const SEARCH: &[Key] = &[
    Key::new(
        "searxng",
        Shape::Table(&[Key::new(
            "url",
            URL,
            "Where SearXNG is reached; it is asked first. Without it and Brave `web_search` is refused.",
        )]),
        "SearXNG.",
    ),
    Key::new(
        "brave",
        Shape::Table(&[Key::new(
            "api_key_env",
            VARIABLE,
            "The environment variable that holds the key; Brave is asked second, if there is one.",
        )]),
        "Brave Search.",
    ),
];

/// The keys of `[server]`.
pub(super) const SERVER: &[Key] = &[
    Key::new("host", TEXT, "The address to listen on.").or(Fallback::Text("127.0.0.1")),
    Key::new(
        "port",
        Shape::Count {
            min: 0,
            max: 65_535,
        },
        "The port to listen on; 0 is any free one.",
    )
    .or(Fallback::Count(7433)),
    Key::new(
        "allowed_origins",
        Shape::list(&Shape::Text(Check::Origin)),
        "Pages, besides its own, that may connect.",
    )
    .or(Fallback::List(&[])),
    Key::new(
        "allowed_hosts",
        TEXTS,
        "Names, besides its own address, under which it may be called.",
    )
    .or(Fallback::List(&[])),
    Key::new(
        "workspaces",
        Shape::list(&Shape::Text(Check::Path)),
        "Directories, besides its own, that conversations may be about.",
    )
    .or(Fallback::List(&[])),
    Key::new(
        "tls_certificate",
        Shape::Text(Check::Path),
        "A file with its certificates, PEM; without it, plain HTTP.",
    ),
    Key::new(
        "tls_key",
        Shape::Text(Check::Path),
        "The file with the key of the certificate, PEM.",
    ),
    Key::new(
        "allow_plain_remote",
        Shape::Flag,
        "Whether plain HTTP may be spoken beyond this machine.",
    )
    .or(Fallback::Flag(false)),
    Key::new(
        "max_connections",
        Shape::Count {
            min: 1,
            max: 65_535,
        },
        "The most connections at once.",
    )
    .or(Fallback::Count(2_048)),
    Key::new(
        "max_conversations",
        Shape::Count {
            min: 1,
            max: 65_535,
        },
        "The most conversations of one token that are open at once.",
    )
    .or(Fallback::Count(2_048)),
    Key::new(
        "requests_per_second",
        Shape::Count {
            min: 1,
            max: 100_000,
        },
        "The most requests and frames of one token per second; twice as many at once.",
    )
    .or(Fallback::Count(200)),
];

/// The keys of `[journal]`.
pub(super) const JOURNAL: &[Key] = &[
    Key::new(
        "path",
        Shape::Text(Check::Path),
        "The journal's file; the data directory's without it.",
    ),
    Key::new(
        "max_bytes",
        Shape::Count {
            min: 1_048_576,
            max: MANY,
        },
        "The size at which the oldest contents are pruned, except those since the oldest conversation in use began; no limit without it.",
    ),
];
