//! How the benches measure: the same thing many times, in rounds that alternate with what
//! it is compared to, and the median of the rounds. These machines are noisy; a ratio of
//! two things measured in turn is not.

use std::time::{Duration, Instant};

/// One measured figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Nanoseconds per operation, the median of the rounds.
    pub ns: f64,
}

impl Figure {
    /// The figure of one of the `count` equal parts of an operation.
    #[must_use]
    pub fn each(self, count: u32) -> Self {
        Self {
            ns: self.ns / f64::from(count),
        }
    }
}

/// Measures several operations in turn, each `per_round` times in every round.
pub fn in_turn(rounds: usize, per_round: u32, operations: &mut [&mut dyn FnMut()]) -> Vec<Figure> {
    let mut taken: Vec<Vec<Duration>> = operations
        .iter()
        .map(|_| Vec::with_capacity(rounds))
        .collect();
    // The first round warms up and does not count.
    for round in 0..=rounds {
        for (operation, taken) in operations.iter_mut().zip(&mut taken) {
            let began = Instant::now();
            for _ in 0..per_round {
                operation();
            }
            if round > 0 {
                taken.push(began.elapsed());
            }
        }
    }
    taken
        .into_iter()
        .map(|mut taken| {
            taken.sort_unstable();
            let median = taken.get(taken.len() / 2).copied().unwrap_or_default();
            Figure {
                ns: median.as_secs_f64() * 1e9 / f64::from(per_round),
            }
        })
        .collect()
}

/// Prints a figure with what it is compared to and what was asked for.
#[allow(clippy::print_stdout)]
pub fn report(name: &str, ours: Figure, theirs: Option<(&str, Figure)>, bound: Option<&str>) {
    let mut line = serde_json::json!({"name": name, "ours_ns": ours.ns.round()});
    if let (Some(map), Some((other, figure))) = (line.as_object_mut(), theirs) {
        map.insert("against".into(), other.into());
        map.insert("theirs_ns".into(), figure.ns.round().into());
        map.insert(
            "ratio".into(),
            ((ours.ns / figure.ns * 100.0).round() / 100.0).into(),
        );
    }
    if let (Some(map), Some(bound)) = (line.as_object_mut(), bound) {
        map.insert("bound".into(), bound.into());
    }
    println!("{line}");
}
