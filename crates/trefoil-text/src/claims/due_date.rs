//! When something is due.

use std::sync::LazyLock;

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, Weekday},
    tz::TimeZone,
};
use regex::{Captures, Regex};
use trefoil_core::Language;

/// The end of the day on which a sentence says that something is due, if it was said at `said_at`: the
/// first day that it names, as a date, a weekday or so many days from now. Days are those of
/// UTC.
///
/// ```
/// use jiff::Timestamp;
/// use trefoil_core::Language;
/// use trefoil_text::claims::due_date;
///
/// let sunday: Timestamp = "2026-11-22T10:00:00Z".parse()?;
/// let due = due_date("Send it by Friday.", Language::En, sunday).unwrap();
/// assert_eq!(due.to_string(), "2026-11-27T23:59:59Z");
/// # Ok::<(), jiff::Error>(())
/// ```
pub fn due_date(sentence: &str, language: Language, said_at: Timestamp) -> Option<Timestamp> {
    let today = said_at.to_zoned(TimeZone::UTC).date();
    let forms = match language {
        Language::Ja => &*JAPANESE,
        Language::Ko => &*KOREAN,
        Language::En | _ => &*ENGLISH,
    };
    let dates = DATES.iter().chain(forms);
    let first = dates.filter_map(|(pattern, form)| {
        let groups = pattern.captures(sentence)?;
        let at = groups.get(0)?.start();
        Some((at, form.day(&groups, today)?))
    });
    let (_, day) = first.min_by_key(|&(at, _)| at)?;
    Some(day.at(23, 59, 59, 0).to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// How a day is told from what was found.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Year, month and day.
    Whole,
    /// Month and day, in numbers or names: the next of them.
    MonthDay,
    /// Day and month.
    DayMonth,
    /// So many days from now.
    After(i64),
    /// A number of days from now, times so many.
    Count(i64),
    /// The next such weekday, and so many weeks later.
    Weekday(i64),
    /// The last day of this month.
    MonthEnd,
}

impl Form {
    fn day(self, groups: &Captures<'_>, today: Date) -> Option<Date> {
        let text = |at: usize| groups.get(at).map(|group| group.as_str());
        let number = |at: usize| text(at)?.parse::<i8>().ok();
        let next = |month: i8, day: i8| {
            let this_year = Date::new(today.year(), month, day).ok()?;
            if this_year >= today {
                Some(this_year)
            } else {
                Date::new(today.year() + 1, month, day).ok()
            }
        };
        match self {
            Self::Whole => Date::new(text(1)?.parse().ok()?, number(2)?, number(3)?).ok(),
            Self::MonthDay => next(number(1).or_else(|| month(text(1)?))?, number(2)?),
            Self::DayMonth => next(month(text(2)?)?, number(1)?),
            Self::After(days) => today.checked_add(days.days()).ok(),
            Self::Count(times) => {
                today.checked_add((text(1)?.parse::<i64>().ok()? * times).days()).ok()
            }
            Self::Weekday(weeks) => {
                let weekday = weekday(text(1)?)?;
                let next = today.nth_weekday(1, weekday).ok()?;
                // Next week begins after its Sunday; before that a weekday is the coming one.
                let days_left = i64::from(today.weekday().until(Weekday::Sunday));
                let coming = i64::from(today.weekday().until(weekday));
                let same_week = coming != 0 && coming <= days_left;
                let later = if weeks > 0 && same_week { 7 } else { 0 };
                next.checked_add(later.days()).ok()
            }
            Self::MonthEnd => Some(today.last_of_month()),
        }
    }
}

type Forms = Vec<(Regex, Form)>;

fn forms<const N: usize>(patterns: [(&str, Form); N]) -> Forms {
    patterns
        .into_iter()
        .filter_map(|(pattern, form)| Some((Regex::new(pattern).ok()?, form)))
        .collect()
}

static DATES: LazyLock<Forms> = LazyLock::new(|| {
    forms([(r"(?-u:\b)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?-u:\b)", Form::Whole)])
});

const MONTH: &str = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";

static ENGLISH: LazyLock<Forms> = LazyLock::new(|| {
    let weekday = "(mon|tues|wednes|thurs|fri|satur|sun)day";
    let month_day = format!(r"(?i)\b({MONTH})[a-z]*\.? (\d{{1,2}})(?:st|nd|rd|th)?\b");
    let day_month = format!(r"(?i)\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({MONTH})[a-z]*\b");
    let next_weekday = format!(r"(?i)\bnext {weekday}\b");
    let weekday = format!(r"(?i)\b(?:by|on|this|before|until|coming|every)? ?{weekday}\b");
    forms([
        (&month_day, Form::MonthDay),
        (&day_month, Form::DayMonth),
        (&next_weekday, Form::Weekday(1)),
        (&weekday, Form::Weekday(0)),
        (r"(?i)\bday after tomorrow\b", Form::After(2)),
        (r"(?i)\btomorrow\b", Form::After(1)),
        (r"(?i)\b(?:today|tonight|this (?:evening|afternoon))\b", Form::After(0)),
        (r"(?i)\bin (\d{1,3}) days?\b", Form::Count(1)),
        (r"(?i)\bin (\d{1,2}) weeks?\b", Form::Count(7)),
        (r"(?i)\bin a week\b|\bnext week\b", Form::After(7)),
        (r"(?i)\bnext month\b", Form::After(30)),
        (r"(?i)\bend of (?:the|this) month\b", Form::MonthEnd),
    ])
});

static JAPANESE: LazyLock<Forms> = LazyLock::new(|| {
    forms([
        (r"(\d{4})年(\d{1,2})月(\d{1,2})日", Form::Whole),
        (r"(\d{1,2})月(\d{1,2})日", Form::MonthDay),
        (r"(?:来週|次)の?([月火水木金土日])曜", Form::Weekday(1)),
        (r"([月火水木金土日])曜", Form::Weekday(0)),
        (r"明後日|あさって", Form::After(2)),
        (r"明日|あした|あす", Form::After(1)),
        (r"今日|本日|今夜|今晩", Form::After(0)),
        (r"(\d{1,3})日(?:後|以内)", Form::Count(1)),
        (r"(\d{1,2})週間(?:後|以内)", Form::Count(7)),
        (r"来週", Form::After(7)),
        (r"来月", Form::After(30)),
        (r"月末|今月中", Form::MonthEnd),
    ])
});

static KOREAN: LazyLock<Forms> = LazyLock::new(|| {
    forms([
        (r"(\d{4})년 ?(\d{1,2})월 ?(\d{1,2})일", Form::Whole),
        (r"(\d{1,2})월 ?(\d{1,2})일", Form::MonthDay),
        (r"다음 ?주 ([월화수목금토일])요일", Form::Weekday(1)),
        (r"([월화수목금토일])요일", Form::Weekday(0)),
        (r"모레", Form::After(2)),
        (r"내일", Form::After(1)),
        (r"오늘", Form::After(0)),
        (r"(\d{1,3})일 (?:후|뒤|안에|이내)", Form::Count(1)),
        (r"(\d{1,2})주 (?:후|뒤|안에|이내)", Form::Count(7)),
        (r"다음 ?주", Form::After(7)),
        (r"다음 ?달", Form::After(30)),
        (r"월말|이번 ?달 ?(?:말|안)", Form::MonthEnd),
    ])
});

fn month(name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    MONTH.split('|').zip(1..).find_map(|(month, number)| (month == name).then_some(number))
}

fn weekday(name: &str) -> Option<Weekday> {
    const NAMES: [&str; 3] =
        ["mon tues wednes thurs fri satur sun", "月 火 水 木 金 土 日", "월 화 수 목 금 토 일"];
    let name = name.to_lowercase();
    let mut names = NAMES.iter().flat_map(|language| language.split(' ').zip(0..));
    let (_, offset) = names.find(|&(one, _)| one == name)?;
    Weekday::from_monday_zero_offset(offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Told on Sunday, 22 November 2026.
    #[track_caller]
    fn check(sentence: &str, language: Language, expected: &str) {
        let said_at = "2026-11-22T10:00:00Z".parse().unwrap();
        let due = due_date(sentence, language, said_at).map(|due| due.to_string());
        let expected = (!expected.is_empty()).then(|| format!("{expected}T23:59:59Z"));
        assert_eq!(due, expected, "{sentence}");
    }

    #[test]
    fn english_days() {
        let check = |sentence, expected| check(sentence, Language::En, expected);
        check("Send it by 2026-12-24.", "2026-12-24");
        check("It is due November 30th.", "2026-11-30");
        check("It is due on 3 March.", "2027-03-03");
        check("Call tomorrow or on Friday.", "2026-11-23");
        check("Do it today.", "2026-11-22");
        check("by the day after tomorrow", "2026-11-24");
        check("on Friday", "2026-11-27");
        check("next Friday", "2026-11-27");
        check("this Sunday", "2026-11-29");
        check("in 3 days", "2026-11-25");
        check("in 2 weeks", "2026-12-06");
        check("next week", "2026-11-29");
        check("by the end of the month", "2026-11-30");
        check("I may do it.", "");
        check("on 2026-02-31", "");
    }

    #[test]
    fn japanese_days() {
        let check = |sentence, expected| check(sentence, Language::Ja, expected);
        check("2026年12月24日までに送る", "2026-12-24");
        check("3月3日が締め切りです", "2027-03-03");
        check("明日までに", "2026-11-23");
        check("明後日行きます", "2026-11-24");
        check("金曜日までに", "2026-11-27");
        check("来週の金曜日", "2026-11-27");
        check("3日後", "2026-11-25");
        check("来週", "2026-11-29");
        check("月末までに", "2026-11-30");
        check("いつかやる", "");
    }

    #[test]
    fn korean_days() {
        let check = |sentence, expected| check(sentence, Language::Ko, expected);
        check("2026년 12월 24일까지", "2026-12-24");
        check("3월 3일까지 제출", "2027-03-03");
        check("내일까지", "2026-11-23");
        check("금요일까지 보내야 해요", "2026-11-27");
        check("다음 주 금요일", "2026-11-27");
        check("3일 후에", "2026-11-25");
        check("다음 주에", "2026-11-29");
        check("언젠가", "");
    }

    #[test]
    fn next_week_is_after_this_weeks_sunday() {
        let monday = "2026-11-23T10:00:00Z".parse().unwrap();
        let due = |sentence| due_date(sentence, Language::En, monday).unwrap().to_string();
        assert_eq!(due("on Friday"), "2026-11-27T23:59:59Z");
        assert_eq!(due("next Friday"), "2026-12-04T23:59:59Z");
        assert_eq!(due("next Monday"), "2026-11-30T23:59:59Z");
    }
}
