//! Values as Python shows them in a `repr`.

pub fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

pub fn whole_or_none(value: Option<u16>) -> String {
    value.map_or("None".to_owned(), |value| value.to_string())
}

pub fn number_or_none(value: Option<f64>) -> String {
    value.map_or("None".to_owned(), |value| format!("{value:.3}"))
}
