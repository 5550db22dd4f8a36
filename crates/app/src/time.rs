//! Times for people.
//!
//! ```
//! assert_eq!(toolgate_app::time::shown(951_868_799_042), "2000-02-29 23:59:59");
//! assert_eq!(toolgate_app::time::stamp(951_868_799_042), "2000-02-29T23:59:59.042Z");
//! ```

/// A moment as `2026-01-31 12:00:00`, in UTC.
pub fn shown(at_ms: u64) -> String {
    let seconds = at_ms / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// A moment as `2026-01-31T12:00:00.250Z`.
pub fn stamp(at_ms: u64) -> String {
    format!("{}.{:03}Z", shown(at_ms).replace(' ', "T"), at_ms % 1000)
}

/// The moment that a user means, as milliseconds since 1970: so long before now (`30m`, `2h`,
/// `3d`, `1w`), or the beginning of a day in UTC (`2026-01-31`).
///
/// ```
/// use toolgate_app::time::before;
///
/// assert_eq!(before("2h", 7_200_000), Some(0));
/// assert_eq!(before("1970-01-02", 0), Some(86_400_000));
/// assert_eq!(before("yesterday", 0), None);
/// ```
pub fn before(text: &str, now_ms: u64) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return day(text)?.checked_mul(86_400_000),
    };
    let age = number.parse::<u64>().ok()?.checked_mul(seconds * 1000)?;
    Some(now_ms.saturating_sub(age))
}

/// The day since 1970 of a date.
fn day(text: &str) -> Option<u64> {
    let mut parts = text.split('-');
    let mut part = |long: usize| {
        let part = parts.next().filter(|part| part.len() == long)?;
        part.parse::<u64>().ok()
    };
    let (year, month, of_month) = (part(4)?, part(2)?, part(2)?);
    let near = year.checked_sub(1970)? * 365;
    // Of the days that may be meant, the one whose date is this.
    let wanted = (year, month, of_month);
    let found = (near..near + 1_000).find(|days| date(*days) == wanted);
    found.filter(|_| parts.next().is_none())
}

/// The date of a day since 1970. Years are counted from March, so that the leap day is the
/// last of its year and every month but the last has its usual place.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (era * 400 + years + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_as_calendars_have_them() {
        for (at_ms, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400_000, "2000-02-29 00:00:00"),
            (951_868_799_999, "2000-02-29 23:59:59"),
            (951_868_800_000, "2000-03-01 00:00:00"),
            (1_709_164_800_000, "2024-02-29 00:00:00"),
            (4_107_542_399_000, "2100-02-28 23:59:59"),
            (4_107_542_400_000, "2100-03-01 00:00:00"),
            (1_767_225_599_000, "2025-12-31 23:59:59"),
        ] {
            assert_eq!(shown(at_ms), text);
        }
        assert_eq!(stamp(951_868_799_042), "2000-02-29T23:59:59.042Z");
    }
}
