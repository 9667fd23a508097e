use super::*;

fn read(reader: &TimeReader, text: &str) -> Result<String, String> {
    let time = reader.read(text).map_err(|error| error.to_string())?;
    Ok(time.to_string().replace(".000Z", "Z"))
}

#[test]
fn times_with_a_zone_are_read_in_each_notation() {
    let reader = TimeReader::new();
    for (text, time) in [
        ("2024-05-31T20:00:00+08:00", "2024-05-31T12:00:00Z"),
        ("2024-05-31 20:00 +0800", "2024-05-31T12:00:00Z"),
        ("2024/5/31 8:05Z", "2024-05-31T08:05:00Z"),
        ("2024-5-31T8:05:09.1239Z", "2024-05-31T08:05:09.123Z"),
        ("2024-05-31 20:00:00 UTC", "2024-05-31T20:00:00Z"),
        ("2024-05-31 20:00:00 UTC+8", "2024-05-31T12:00:00Z"),
        ("2024-05-31 20:00:00 GMT+0530", "2024-05-31T14:30:00Z"),
        ("20240531T200000Z", "2024-05-31T20:00:00Z"),
        ("20240531T2000+0800", "2024-05-31T12:00:00Z"),
        ("2024.05.31 08:00 PM GMT", "2024-05-31T20:00:00Z"),
        ("Fri, 31 May 2024 20:00:00 GMT", "2024-05-31T20:00:00Z"),
        ("  fri, 31 may 2024 8:00:00 +0800\n", "2024-05-31T00:00:00Z"),
        (
            "Friday, 31 May 2024 20:00:00 -05:00",
            "2024-06-01T01:00:00Z",
        ),
        ("Thurs, 30 September 2021 20:00 Z", "2021-09-30T20:00:00Z"),
        ("Mon, 31 May 2024 20:00:00 EST", "2024-06-01T01:00:00Z"),
        ("31 May 24 20:00 PDT", "2024-06-01T03:00:00Z"),
        ("31 May 99 20:00 UT", "1999-05-31T20:00:00Z"),
        ("Friday, 31-May-24 20:00:00 GMT", "2024-05-31T20:00:00Z"),
        (
            "Fri, 31 May 2024 20:00:00 +0000 (UTC)",
            "2024-05-31T20:00:00Z",
        ),
        ("Fri,31 May 2024 20:00:60 GMT", "2024-05-31T20:00:59Z"),
        ("1717185600", "2024-05-31T20:00:00Z"),
        ("1717185600.25", "2024-05-31T20:00:00.250Z"),
        ("1.7171856e9", "2024-05-31T20:00:00Z"),
        ("1717185600007", "2024-05-31T20:00:00.007Z"),
        ("631152000", "1990-01-01T00:00:00Z"),
        ("4133980799", "2100-12-31T23:59:59Z"),
    ] {
        assert_eq!(read(&reader, text), Ok(time.to_owned()), "{text}");
    }
}

#[test]
fn time_without_a_zone_is_read_in_the_default_zone() {
    let in_zone = |zone| TimeReader::new().with_default_zone(zone).unwrap();
    for (zone, text, time) in [
        ("+08:00", "2024-05-31 20:00", "2024-05-31T12:00:00Z"),
        (
            "Asia/Shanghai",
            "2024-05-31T20:00:00.5",
            "2024-05-31T12:00:00.500Z",
        ),
        ("Z", "2024/05/31 20:00:00", "2024-05-31T20:00:00Z"),
        ("UTC", "31 May 2024 20:00", "2024-05-31T20:00:00Z"),
        ("Europe/Berlin", "2024-05-31 20:00", "2024-05-31T18:00:00Z"),
        ("Europe/Berlin", "2024-01-31 20:00", "2024-01-31T19:00:00Z"),
        // Left out by summer time, and repeated by winter time.
        ("Europe/Berlin", "2024-03-31 02:30", "2024-03-31T01:30:00Z"),
        ("Europe/Berlin", "2024-10-27 02:30", "2024-10-27T00:30:00Z"),
        ("+08:00", "20240531", "2024-05-30T16:00:00Z"),
        ("+08:00", "2024-05-31", "2024-05-30T16:00:00Z"),
        ("+08:00", "202405312000", "2024-05-31T12:00:00Z"),
        ("+08:00", "20240531200015", "2024-05-31T12:00:15Z"),
        ("+08:00", "2024年5月31日", "2024-05-30T16:00:00Z"),
        ("+08:00", "2024年05月31日 20:00", "2024-05-31T12:00:00Z"),
        (
            "+08:00",
            "2024年5月31日20时05分15秒",
            "2024-05-31T12:05:15Z",
        ),
        (
            "+08:00",
            "2024年5月31日 星期五 下午8:05",
            "2024-05-31T12:05:00Z",
        ),
        (
            "+08:00",
            "２０２４年５月３１日　２０：００",
            "2024-05-31T12:00:00Z",
        ),
        (
            "+09:00",
            "2024年5月31日(金) 20時00分",
            "2024-05-31T11:00:00Z",
        ),
        (
            "+09:00",
            "2024년 5월 31일 오후 8시 5분",
            "2024-05-31T11:05:00Z",
        ),
        // The zone of the time itself counts.
        ("+08:00", "2024-05-31 20:00 -0500", "2024-06-01T01:00:00Z"),
        ("+08:00", "1717185600", "2024-05-31T20:00:00Z"),
    ] {
        assert_eq!(
            read(&in_zone(zone), text),
            Ok(time.to_owned()),
            "{zone} {text}"
        );
    }
    for unknown in ["Mars/Olympus", "", "CEST", "+25:00", "8"] {
        let error = TimeReader::new().with_default_zone(unknown).unwrap_err();
        assert!(
            matches!(error, Error::UnknownZone { .. }),
            "{unknown}: {error}"
        );
    }
}

#[test]
fn unclear_time_is_refused_with_its_reason() {
    let reader = TimeReader::new();
    for (text, reason) in [
        ("20240531", NO_TIME_OF_DAY),
        ("2024-05-31", NO_TIME_OF_DAY),
        ("2024年5月31日", NO_TIME_OF_DAY),
        ("2024-05-31 20:00", NO_ZONE),
        ("20240531200000", NO_ZONE),
        ("Fri, 31 May 2024 20:00:00", NO_ZONE),
        ("2024年5月31日 20:00", NO_ZONE),
        ("Fri, 31 May 2024 20:00:00 CEST", UNKNOWN_ZONE),
        ("2024-05-31 20:00 JST", UNKNOWN_ZONE),
        ("2024-05-31T12:00:00+00:00[UTC]", UNKNOWN_ZONE),
        ("2024", NEEDS_UNIT),
        ("0", NEEDS_UNIT),
        ("631151999", NEEDS_UNIT),
        ("4133980800", NEEDS_UNIT),
        ("20241350", NEEDS_UNIT),
        ("1717185600000000", NEEDS_UNIT),
        ("1717185600000000000", NEEDS_UNIT),
        ("1e300", NEEDS_UNIT),
        ("-1", BEFORE_1970),
        ("1969-12-31 20:00Z", BEFORE_1970),
        ("2024-02-30 20:00Z", "there is no such day"),
        ("Fri, 31 Feb 2024 20:00:00 GMT", "there is no such day"),
        ("2024-13-01", "there is no such day"),
        ("20240230", "there is no such day"),
        ("2024年2月30日 20:00", "there is no such day"),
        ("2024-05-31 25:00 Z", "there is no such time of day"),
        ("2024-05-31 20:00 +9900", "there is no such offset from UTC"),
        ("05/31/2024 20:00", NOT_A_TIME),
        ("31 Mai 2024 20:00 GMT", NOT_A_TIME),
        ("Fre, 31 May 2024 20:00 GMT", NOT_A_TIME),
        ("2024-05/31 20:00Z", NOT_A_TIME),
        ("2024-05-3120:00Z", NOT_A_TIME),
        ("2024-05-31 13:00 AM Z", NOT_A_TIME),
        ("yesterday", NOT_A_TIME),
        ("", NOT_A_TIME),
        ("+", NOT_A_TIME),
        ("NaN", NOT_A_TIME),
        ("年月日", NOT_A_TIME),
    ] {
        assert_eq!(reader.time(text), Err(reason), "{text}");
    }
    let zoned = reader.with_default_zone("UTC").unwrap();
    assert_eq!(zoned.time("2024-02-30 20:00"), Err("there is no such day"));
    assert_eq!(zoned.time("1969-12-31 20:00"), Err(BEFORE_1970));
    assert_eq!(zoned.time("20240531200"), Err(NEEDS_UNIT));
    let long = format!("2024-05-31 20:00 {}", " ".repeat(1000)) + "x";
    assert_eq!(zoned.time(&long), Err(NOT_A_TIME));
}

#[test]
fn number_is_read_in_the_given_unit() {
    for (unit, text, ms) in [
        (TimeUnit::Seconds, "0", Some(0)),
        (TimeUnit::Seconds, "20240531", Some(20_240_531_000)),
        (TimeUnit::Seconds, "1.5", Some(1_500)),
        (TimeUnit::Milliseconds, "20240531", Some(20_240_531)),
        (TimeUnit::Milliseconds, "7.9", Some(7)),
        (
            TimeUnit::Microseconds,
            "1717185600000999",
            Some(1_717_185_600_000),
        ),
        (
            TimeUnit::Nanoseconds,
            "1717185600123999999",
            Some(1_717_185_600_123),
        ),
        (TimeUnit::Seconds, "18446744073709551615", None),
        (TimeUnit::Seconds, "1e300", None),
    ] {
        let reader = TimeReader::new().with_unit(unit);
        let expected = ms.map(Timestamp).ok_or(TOO_LATE);
        assert_eq!(reader.time(text), expected, "{unit:?} {text}");
    }
    let reader = TimeReader::new().with_unit(TimeUnit::Seconds);
    assert_eq!(reader.time("-1"), Err(BEFORE_1970));
    assert!(reader.time("2024-05-31T12:00:00Z").is_ok());
}

#[test]
fn no_prefix_of_a_time_panics() {
    let zoned = TimeReader::new()
        .with_default_zone("Europe/Berlin")
        .unwrap();
    for text in [
        "Friday, 31-May-24 20:00:00 GMT (comment)",
        "２０２４年５月３１日（金）下午２０：００：００．５ UTC+8",
        "2024년 5월 31일 (금) 오후 8시 5분 7초",
        "20240531T200000.123+0800",
        "9999-12-31 23:59:59.999999999999-23:59",
    ] {
        for (from, _) in text.char_indices() {
            for (to, _) in text.char_indices().filter(|(to, _)| *to >= from) {
                let _ = zoned.read(&text[from..to]);
            }
        }
    }
}
