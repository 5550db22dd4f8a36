//! Plain data on its way to a screen or a client: the same, without secrets.
//!
//! ```text
//!  PlanRecord, ToolCall, Decision ─▶ every text ─▶ sanitize ─▶ redact ─▶ events, explanations
//!  JSON of a record               ─▶ every text ─────────────▶ redact ─▶ exports
//! ```
//!
//! What is on record and what a plan's hash is made of stays exact; this is for whoever
//! looks on. A value is looked at with its name, and the words of a command with those
//! beside them: `--token` and what follows it are two texts and one secret.

use serde_json::{Map, Value};
use toolgate_model::{
    Args, AtomAnswer, ContentBlock, Decision, Facts, PlanRecord, Run, ToolCall, base64,
};
use toolgate_policy::atom_texts;

use super::redact::{RedactedSpan, Redactor, SecretClass};
use super::{sanitize, whole_args};
use crate::plan::{leads_for_approver, leads_text};

/// What becomes of a text.
type Change<'a> = &'a dyn Fn(&str) -> String;

impl Redactor {
    /// A text for users and clients: no escape sequences, nothing invisible, no secrets.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        self.redact(&sanitize(text)).0.into_owned()
    }

    /// Makes every text of an object one that can be shown, names included.
    pub fn show_map(&self, map: &mut Map<String, Value>) {
        self.change_map(map, &|text| self.shown(text));
    }

    /// Makes every text of a value one that can be shown, every name included.
    pub(crate) fn show_value(&self, value: &mut Value) {
        self.show_names(value);
        self.change(None, value, &|text| self.shown(text));
    }

    fn show_names(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.show_names(item)),
            Value::Object(map) => {
                let members = std::mem::take(map).into_iter();
                map.extend(members.map(|(name, mut item)| {
                    self.show_names(&mut item);
                    (self.shown(&name), item)
                }));
            }
            _ => {}
        }
    }

    /// Takes the secrets out of every text of a value and leaves the rest as it is.
    pub fn redact_value(&self, value: &mut Value) {
        self.change(None, value, &|text| self.redact(text).0.into_owned());
    }

    /// Takes the secrets out of every text of a block and leaves the rest as it is. Bytes that
    /// hold a known secret become a note.
    pub fn redact_block(&self, block: &mut ContentBlock) {
        let bytes = block.data().and_then(|data| base64::decode(data).ok());
        if bytes.is_some_and(|bytes| self.bytes_hold_known(&bytes)) {
            *block = ContentBlock::text(block.left_out("it holds a secret of the environment"));
        }
        match block {
            ContentBlock::Structured { json } => self.redact_value(json),
            other => other.each_text(&mut |text| *text = self.redact(text).0.into_owned()),
        }
    }

    /// Whether a known secret stands in bytes, as text of one byte or of two bytes a letter.
    /// Stages that look for secrets in text see none in base64.
    #[must_use]
    pub fn bytes_hold_known(&self, bytes: &[u8]) -> bool {
        let holds = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            self.hide_known(&text) != text
        };
        let letters: Vec<u8> = bytes.iter().copied().filter(|b| *b != 0).collect();
        holds(bytes) || holds(&letters)
    }

    /// Takes the secrets out of a call and leaves the rest as it is.
    pub fn redact_call(&self, call: &mut ToolCall) {
        self.change_map(&mut call.args, &|text| self.redact(text).0.into_owned());
        if let Some(reason) = &mut call.reason {
            *reason = self.redact(reason).0.into_owned();
        }
    }

    /// The arguments of a call without secrets.
    #[must_use]
    pub fn redacted_args(&self, call: &ToolCall) -> Args {
        let mut call = call.clone();
        self.redact_call(&mut call);
        call.args
    }

    /// Every argument of a plan that its preview does not show, whole, as lines for the user.
    #[must_use]
    pub fn whole(&self, plan: &PlanRecord) -> String {
        let mut args = self.redacted_args(&plan.call);
        args.retain(|name, _| !plan.previewed.contains(name));
        leads_text(&plan.leads_to, self) + &whole_args(&args)
    }

    /// The arguments of a call for an approver.
    #[must_use]
    pub fn args_for_approver(&self, call: &ToolCall) -> Args {
        let mut args = Value::Object(call.args.clone());
        each_text(&mut args, &|text| self.for_approver(text).into_owned());
        match args {
            Value::Object(args) => args,
            _ => Args::new(),
        }
    }

    /// Facts for an approver: each text is one line, and only known values are hidden.
    #[must_use]
    pub fn facts_for_approver(&self, facts: &Facts) -> Facts {
        let shown = |text: &str| super::whole_line(&self.for_approver(text));
        each_fact(facts, &shown, |words| words)
    }

    /// Every argument of a plan that its preview does not show, whole, for an approver.
    #[must_use]
    pub fn whole_for_approver(&self, plan: &PlanRecord) -> String {
        let mut args = self.args_for_approver(&plan.call);
        args.retain(|name, _| !plan.previewed.contains(name));
        leads_for_approver(&plan.leads_to, self) + &whole_args(&args)
    }

    /// A plan for users and clients. The hash stays that of the exact call.
    #[must_use]
    pub fn shown_plan(&self, plan: &PlanRecord) -> PlanRecord {
        // Before anything invisible is taken out of the arguments.
        let whole = Some(self.whole(plan)).filter(|whole| !whole.is_empty());
        let mut plan = PlanRecord {
            whole,
            ..plan.clone()
        };
        self.show_map(&mut plan.call.args);
        for text in plan
            .call
            .reason
            .iter_mut()
            .chain(plan.preview.iter_mut())
            .chain([&mut plan.summary])
            .chain(&mut plan.locations)
            .chain(plan.opens.iter_mut().map(|needed| &mut needed.path))
            .chain(plan.rests_on.iter_mut().map(|file| &mut file.path))
            .chain(plan.leads_to.iter_mut().map(|lead| &mut lead.path))
        {
            *text = self.shown(text);
        }
        for needed in &mut plan.opens {
            needed.to = self.shown(&needed.to);
        }
        for lead in &mut plan.leads_to {
            lead.to = self.shown(&lead.to);
        }
        plan.facts = self.shown_facts(&plan.facts);
        plan.decision = self.shown_decision(&plan.decision);
        plan
    }

    /// Facts for users and clients.
    #[must_use]
    pub fn shown_facts(&self, facts: &Facts) -> Facts {
        self.changed_facts(facts, &|text| self.shown(text))
    }

    fn changed_facts(&self, facts: &Facts, change: Change<'_>) -> Facts {
        each_fact(facts, change, |words| self.beside_each_other(words))
    }

    /// A decision for users and clients.
    #[must_use]
    pub fn shown_decision(&self, decision: &Decision) -> Decision {
        Decision {
            reason: self.shown(&decision.reason),
            rule: self.shown(&decision.rule),
            atoms: decision
                .atoms
                .iter()
                .map(|answer| AtomAnswer {
                    atom: self.shown(&answer.atom),
                    rule: self.shown(&answer.rule),
                    ..answer.clone()
                })
                .collect(),
            ..decision.clone()
        }
    }

    /// Takes secrets out of the atoms that a decision names. Policy quotes, escapes and cuts
    /// them for its explanation, and what is left of a secret then is not recognized later.
    pub(crate) fn redact_atoms(&self, decision: &mut Decision, tool: &str, facts: &Facts) {
        // What is invisible stays: policy writes it out, and taken out nobody would see it.
        let clean = || self.changed_facts(facts, &|text| self.redact(text).0.into_owned());
        rename_atoms(decision, tool, facts, clean);
    }

    /// The reason of a decision for an approver. Known values are taken out of the facts,
    /// because policy quotes and cuts them.
    pub(crate) fn reason_for_approver(
        &self,
        decision: &Decision,
        tool: &str,
        facts: &Facts,
    ) -> String {
        let mut decision = decision.clone();
        let hide = |text: &str| self.for_approver(text).into_owned();
        rename_atoms(&mut decision, tool, facts, || {
            each_fact(facts, &hide, |words| words)
        });
        decision.reason
    }

    /// Words that stand in a row, each without its part of a secret.
    pub(crate) fn beside_each_other(&self, words: Vec<String>) -> Vec<String> {
        let line = words.join(" ");
        let spans = self.redact(&line).1;
        if spans.is_empty() {
            return words;
        }
        let mut next = 0;
        let of_line = |word: String| {
            let (start, end) = (next, next + word.len());
            next = end + 1;
            let (mut shown, mut done) = (String::new(), start);
            let within = |span: &&RedactedSpan| span.start < end && span.end > start;
            for span in spans.iter().filter(within) {
                shown.push_str(line.get(done..span.start).unwrap_or_default());
                shown.push_str(span.class.marker());
                done = span.end.min(end);
            }
            shown.push_str(line.get(done..end).unwrap_or_default());
            shown
        };
        words.into_iter().map(of_line).collect()
    }

    fn change(&self, name: Option<&str>, value: &mut Value, change: Change<'_>) {
        match value {
            Value::String(text) => {
                let changed = change(text);
                *text = match name {
                    Some(name) => self.given_to(name, changed),
                    None => changed,
                };
            }
            Value::Array(items) => {
                for item in items.iter_mut() {
                    self.change(name, item, change);
                }
                self.change_row(items);
            }
            Value::Object(map) => self.change_map(map, change),
            _ => {}
        }
    }

    fn change_row(&self, items: &mut [Value]) {
        let texts = items.iter().filter_map(Value::as_str).map(str::to_owned);
        let texts: Vec<String> = texts.collect();
        if texts.len() == items.len() {
            let shown = self.beside_each_other(texts);
            for (item, text) in items.iter_mut().zip(shown) {
                *item = text.into();
            }
        }
    }

    fn change_map(&self, map: &mut Map<String, Value>, change: Change<'_>) {
        let plain = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if !map.keys().all(|name| plain(name)) {
            *map = std::mem::take(map)
                .into_iter()
                .map(|(name, value)| (change(&name), value))
                .collect();
        }
        for (name, value) in map {
            self.change(Some(name), value, change);
        }
    }

    /// A value as it reads beside its name: a random text is a secret where it is a password.
    fn given_to(&self, name: &str, value: String) -> String {
        if value.is_empty() {
            return value;
        }
        let head = format!("{name}=\"");
        if value.contains(['"', '\\']) {
            // Quotes and escapes would end the value early, so it is judged without them.
            // Where they stood is not known afterwards: of a secret nothing is shown.
            let line = format!("{head}{}\"", value.replace(['"', '\\'], ""));
            let is_value = |span: &RedactedSpan| span.start <= head.len();
            let secret = self.redact(&line).1.iter().any(is_value);
            return if secret {
                SecretClass::Assignment.marker().to_owned()
            } else {
                value
            };
        }
        let line = format!("{head}{value}\"");
        let (redacted, spans) = self.redact(&line);
        if spans.is_empty() {
            return value;
        }
        let inner = redacted.strip_prefix(&head).unwrap_or_default();
        match inner.strip_suffix('"') {
            Some(inner) => inner.to_owned(),
            // More than the value was taken for the secret: then nothing of it is shown.
            None => SecretClass::Assignment.marker().to_owned(),
        }
    }
}

/// Facts with every text changed, and the words of each command once more together.
fn each_fact(
    facts: &Facts,
    change: Change<'_>,
    together: impl Fn(Vec<String>) -> Vec<String>,
) -> Facts {
    let all = |texts: &[String]| -> Vec<String> { texts.iter().map(|text| change(text)).collect() };
    let run = |run: &Run| Run {
        words: together(all(&run.words)),
        opaque: run.opaque,
    };
    Facts {
        reads: all(&facts.reads),
        writes: all(&facts.writes),
        deletes: all(&facts.deletes),
        runs: facts.runs.iter().map(run).collect(),
        connects: all(&facts.connects),
        complete: facts.complete,
        claimed: facts.claimed,
        plain: facts.plain,
        catastrophic: all(&facts.catastrophic),
    }
}

/// Names the atoms of a decision as they are with changed facts.
fn rename_atoms(
    decision: &mut Decision,
    tool: &str,
    facts: &Facts,
    changed: impl FnOnce() -> Facts,
) {
    let cut = |answer: &AtomAnswer| answer.atom.contains(['…', '\\']);
    if facts.runs.is_empty() && !decision.atoms.iter().any(cut) {
        return;
    }
    let exact = atom_texts(tool, facts);
    let shown = atom_texts(tool, &changed());
    for (exact, shown) in exact.iter().zip(&shown).filter(|(one, other)| one != other) {
        decision.reason = decision.reason.replace(exact, shown);
        for answer in &mut decision.atoms {
            if answer.atom == *exact {
                answer.atom.clone_from(shown);
            }
        }
    }
}

/// Changes every text of a value. Names stay: two of them could become one.
fn each_text(value: &mut Value, change: Change<'_>) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| each_text(item, change)),
        _ => {}
    }
}
