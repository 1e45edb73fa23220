//! Parses times in the format of Spark's streaming progress, such as `2026-11-21T13:05:00.123Z`.

/// Returns a time in milliseconds since 1970-01-01 UTC; `None` for a text in another format.
pub fn milliseconds(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(clock, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !in_range || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + thousandths)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse::<i64>().ok());
    let found = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(found)
}

/// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_spark_are_parsed() {
        assert_eq!(milliseconds("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(milliseconds("2024-02-29T12:34:56.789Z"), Some(1_709_210_096_789));
        assert_eq!(milliseconds("2024-02-29T12:34:56Z"), Some(1_709_210_096_000));
    }

    #[test]
    fn other_texts_are_no_time() {
        for text in [
            "",
            "Z",
            "2024-02-29",
            "2024-13-01T00:00:00.000Z",
            "2024-01-01T00:00:00.\u{e9}Z",
            "yesterday",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
