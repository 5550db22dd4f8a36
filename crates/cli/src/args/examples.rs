//! Examples below the help of each command that takes arguments.

pub(super) const EXEC: &str = "Examples:
  toolgate exec read_file path=README.md
  toolgate exec grep pattern=TODO path=src
  toolgate exec read_many_files paths=a.txt paths=b.txt
  toolgate exec edit_file path=a.txt 'edits:=[{\"target\": \"x\", \"replacement\": \"y\"}]'
  toolgate exec run_command '{\"command\": \"cargo test\"}'";

pub(super) const BATCH: &str = "Examples:
  toolgate batch calls.jsonl
  echo '{\"name\": \"list_directory\", \"args\": {}}' | toolgate batch";

pub(super) const RUN: &str = "Examples:
  ANTHROPIC_API_KEY=… toolgate run \"Which tests are missing?\"
  toolgate run --continue \"Now write them.\"
  toolgate run --provider ollama --model qwen3 \"Explain src/main.rs.\"
  git diff | toolgate run -";

pub(super) const MODELS: &str = "Examples:
  toolgate models
  toolgate models --provider ollama";

pub(super) const PARSE: &str = "Examples:
  toolgate parse answer.txt --format fenced
  curl -sN … | toolgate parse --format anthropic";

pub(super) const TOOLS: &str = "Examples:
  toolgate tools
  toolgate tools --format anthropic";

pub(super) const EXPLAIN: &str = "Examples:
  toolgate policy explain run_command command='rm -rf target'
  toolgate policy explain write_file '{\"path\": \"a.txt\", \"content\": \"x\"}'";

pub(super) const GRANTS: &str = "Examples:
  toolgate policy grants
  toolgate policy grants --conversation run_1f";
pub(super) const REVOKE_GRANT: &str = "Examples:
  toolgate policy grants revoke g1f
  toolgate policy grants revoke network --conversation run_1f";

pub(super) const TRUST: &str = "Examples:
  toolgate trust
  toolgate trust --yes
  toolgate trust revoke";

pub(super) const LIST: &str = "Examples:
  toolgate journal list --limit 10
  toolgate journal list --since 2h
  toolgate journal list --since 2026-11-01 --workspace .";

pub(super) const SHOW: &str = "Examples:
  toolgate journal show run_5e
  toolgate journal show run_5e --call call_2 --full
  toolgate --json journal show run_5e --kind finished";

pub(super) const EXPORT: &str = "Examples:
  toolgate journal export run_5e --format html -o talk.html
  toolgate journal export run_5e --format md";

pub(super) const VERIFY: &str = "Examples:
  toolgate journal verify
  toolgate journal verify --against anchor.json";

pub(super) const PRUNE: &str = "Examples:
  toolgate journal prune --older-than-days 90
  toolgate journal prune --to-bytes 100000000";

pub(super) const RESUME: &str = "Examples:
  toolgate resume run_5e
  toolgate resume run_5e --keep";

pub(super) const UNDO: &str = "Examples:
  toolgate undo
  toolgate undo run_5e --turn 2
  toolgate undo run_5e --call call_3 --yes";

pub(super) const COMPLETIONS: &str = "Examples:
  toolgate completions bash > ~/.local/share/bash-completion/completions/toolgate
  toolgate completions zsh > ~/.zfunc/_toolgate
  toolgate completions fish > ~/.config/fish/completions/toolgate.fish";

pub(super) const MAN: &str = "Examples:
  toolgate man | man -l -
  toolgate man ~/.local/share/man/man1";

pub(super) const CHAT: &str = "Examples:\n  toolgate chat --provider anthropic --model NAME\n  toolgate chat --continue\n  toolgate chat --conversation 3f2a --plain";

pub(super) const SERVE: &str = "Examples:\n  toolgate serve\n  toolgate serve --port 0 --json\n  toolgate serve token create ci --role approver";
