//! How long a provider wants to be left alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// What the headers of a refusal ask for: milliseconds, seconds, or a moment.
///
/// A moment is measured from the moment the provider says it answered at, so that no clock
/// has to agree with it; where it does not say, from our own.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str, unit: f64| {
        let number: f64 = text(name)?.parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    let moment = || {
        let until = seconds_of(text(RETRY_AFTER.as_str())?)?;
        let theirs = text(DATE.as_str()).and_then(seconds_of);
        let ours = || Some(now.duration_since(UNIX_EPOCH).ok()?.as_secs());
        let now = theirs.or_else(ours)?;
        // A moment that has passed asks for nothing.
        Some(Duration::from_secs(until.saturating_sub(now)))
    };
    number("retry-after-ms", 0.001)
        .or_else(|| number(RETRY_AFTER.as_str(), 1.0))
        .or_else(moment)
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds since 1970 of a date in any of the three forms that HTTP has:
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
/// `Sun Nov  6 08:49:37 1994`.
fn seconds_of(date: &str) -> Option<u64> {
    let words: Vec<&str> = date
        .split([' ', ',', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    let (day, month, year, time) = match words.as_slice() {
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| name == month)?;
    let month = u64::try_from(month).ok()?.checked_add(1)?;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year = match (year.len(), year.parse::<u64>().ok()?) {
        // Two digits are the year of this kind that is next to the founding of the form.
        (2, short @ 70..) => 1900 + short,
        (2, short) => 2000 + short,
        (4, year @ 1970..) => year,
        _ => return None,
    };
    let time: Vec<u64> = time
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [hour @ 0..24, minute @ 0..60, second @ 0..61] = *time.as_slice() else {
        return None;
    };
    let seconds = days_before(year, month, day) * 86_400;
    Some(seconds + hour * 3_600 + minute * 60 + second)
}

/// Days from 1970 to a day, by counting years from March, so that the odd day is the last.
const fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    // March of the year 0 is 719,468 days before 1970.
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_date_is_read_in_each_of_its_forms_and_nothing_else_is_one() {
        for (date, seconds) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 23:59:60 GMT", Some(1_709_251_200)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Mon, 01 Mar 2100 00:00:00 GMT", Some(4_107_542_400)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None),
            ("Sun, 00 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nom 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1894 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(seconds_of(date), seconds, "{date}");
        }
    }

    #[test]
    fn a_provider_is_left_alone_for_as_long_as_it_says() {
        let now = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (headers, wait) in [
            (vec![("retry-after", "2")], Some(2_000)),
            (vec![("retry-after", " 0.5 ")], Some(500)),
            (
                vec![("retry-after-ms", "40"), ("retry-after", "2")],
                Some(40),
            ),
            (
                vec![
                    ("date", now),
                    ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
                ],
                Some(30_000),
            ),
            (
                vec![
                    ("date", now),
                    ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"),
                ],
                Some(0),
            ),
            // Our own clock says 08:49:30.
            (vec![("retry-after", now)], Some(7_000)),
            (vec![("date", "today"), ("retry-after", now)], Some(7_000)),
            (vec![("retry-after", "soon")], None),
            (vec![("date", now), ("retry-after", "-1")], None),
            (vec![("date", now), ("retry-after", "inf")], None),
            (vec![], None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                map.insert(*name, HeaderValue::from_static(value));
            }
            let wait = wait.map(Duration::from_millis);
            let ours = UNIX_EPOCH + Duration::from_secs(784_111_770);
            assert_eq!(retry_after(&map, ours), wait, "{headers:?}");
        }
    }
}
