//! Whether one rule leaves anything to a later one.

use crate::host::HostPattern;
use crate::index::Rule;
use crate::path::PathPattern;
use crate::rule::{Condition, Operator};

/// How much of a later rule an earlier one takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Something is left.
    No,
    /// Only commands whose words are not all known are left.
    AllButOpaque,
    /// Nothing is left.
    All,
}

/// Whether everything that `later` fits is fitted by `earlier`, as far as that is plain to see.
///
/// Both are of one layer. Rules that name a tool are tried before `*`, so that
/// only a rule about the very same tool can take anything.
pub(crate) fn taken(earlier: &Rule, later: &Rule) -> Taken {
    if earlier.tool != later.tool
        || !conditions_cover(earlier, later)
        || (earlier.only_opaque() && !later.only_opaque())
        || !opaque_covers(earlier, later)
    {
        return Taken::No;
    }
    if !later.spec.has_fact_keys() {
        // A strict rule about what is opaque has no other atoms.
        return if later.only_opaque() || !earlier.spec.has_fact_keys() {
            Taken::All
        } else {
            Taken::No
        };
    }
    if !earlier.spec.has_fact_keys() {
        // Alone, a strict rule about what is opaque matches no command.
        return if earlier.only_opaque() {
            Taken::No
        } else {
            Taken::All
        };
    }
    keys_cover(earlier, later)
}

fn conditions_cover(earlier: &Rule, later: &Rule) -> bool {
    // With several values in one parameter an allow needs all of them, so it holds less often.
    let sides = earlier.is_strict() || !later.is_strict();
    earlier.spec.when.is_empty()
        || (sides
            && earlier
                .spec
                .when
                .iter()
                .all(|condition| later.spec.when.contains(condition)))
}

/// Whether the call's `opaque` is answered before the later rule is tried.
fn opaque_covers(earlier: &Rule, later: &Rule) -> bool {
    if !later.answers_opaque() {
        return true;
    }
    earlier.answers_opaque()
        && match (&earlier.command, &later.command) {
            (None, _) => true,
            (Some(mine), Some(theirs)) => mine.covers(theirs),
            (Some(_), None) => false,
        }
}

fn keys_cover(earlier: &Rule, later: &Rule) -> Taken {
    let paths = |mine: &Option<Vec<PathPattern>>, theirs: &Option<Vec<PathPattern>>, deletes| {
        theirs.iter().flatten().all(|wanted| {
            mine.iter()
                .flatten()
                .any(|pattern| pattern.covers(wanted, deletes))
        })
    };
    let host = |mine: &HostPattern, theirs: &HostPattern| {
        mine.covers(theirs) && (earlier.is_strict() || !later.is_strict() || !mine.has_port())
    };
    let hosts = later.hosts.iter().flatten().all(|wanted| {
        earlier
            .hosts
            .iter()
            .flatten()
            .any(|pattern| host(pattern, wanted))
    });
    let commands = match (&earlier.command, &later.command) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(mine), Some(theirs)) => mine.covers(theirs),
    };
    let covered = commands
        && hosts
        && paths(&earlier.reads, &later.reads, false)
        && paths(&earlier.writes, &later.writes, false)
        && paths(&earlier.deletes, &later.deletes, true);
    let fits_opaque = |rule: &Rule| rule.is_strict() || rule.spec.opaque;
    if !covered {
        Taken::No
    } else if later.command.is_some() && fits_opaque(later) && !fits_opaque(earlier) {
        Taken::AllButOpaque
    } else {
        Taken::All
    }
}

/// Two conditions on one parameter that no single value can fulfil.
pub(crate) fn contradiction(conditions: &[Condition]) -> Option<(&Condition, &Condition)> {
    conditions.iter().enumerate().find_map(|(at, exact)| {
        if exact.operator != Operator::Equals {
            return None;
        }
        conditions
            .iter()
            .enumerate()
            .find(|(other_at, other)| {
                *other_at != at
                    && other.param == exact.param
                    && !exact
                        .value
                        .list()
                        .iter()
                        .any(|value| satisfies(value, other))
            })
            .map(|(_, other)| (exact, other))
    })
}

/// Whether a value fulfils a condition; a regular expression is not looked into.
fn satisfies(value: &str, condition: &Condition) -> bool {
    let mut wanted = condition.value.list().iter();
    match condition.operator {
        Operator::Equals => wanted.any(|text| value == text),
        Operator::Contains => wanted.any(|text| value.contains(text.as_str())),
        Operator::StartsWith => wanted.any(|text| value.starts_with(text.as_str())),
        Operator::Matches => true,
    }
}
