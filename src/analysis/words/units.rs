//! [`is_unit_by_case`]: the units that capital letters tell apart.

/// A unit has at most four letters: Mbps.
const MAX_UNIT_LETTERS: usize = 4;

/// A prefix and a unit, as the capital letters of a piece of letters decide: mW and MW, Mb and MB,
/// nm, nM and Nm.
fn unit_of(piece: &str) -> Option<(char, &str)> {
    if matches!(
        piece,
        "t" | "T" | "h" | "H" | "s" | "S" | "m" | "M" | "cal" | "Cal" | "Nm" | "dB"
    ) {
        return Some((' ', piece));
    }
    let prefix = piece.chars().next()?;
    let unit = &piece[prefix.len_utf8()..];
    let is_small = matches!(prefix, 'n' | 'µ' | 'μ' | 'm');
    let is_unit = match unit {
        "M" => is_small,
        "b" | "bit" => matches!(prefix, 'K' | 'M' | 'G' | 'T'),
        "B" | "bps" | "Bps" => matches!(prefix, 'k' | 'K' | 'M' | 'G' | 'T'),
        "g" | "m" | "s" | "S" | "A" | "l" | "L" | "V" | "W" | "J" | "N" | "F" | "T" | "H"
        | "Hz" | "Pa" | "Ω" | "Sv" | "eV" | "Wh" => {
            is_small || matches!(prefix, 'k' | 'K' | 'M' | 'G') && unit != "g"
        }
        _ => false,
    };
    let prefix = if prefix == 'K' { 'k' } else { prefix };
    is_unit.then_some((prefix, if unit == "L" { "l" } else { unit }))
}

/// Returns `true` for a unit that is not the one that its letters usually are: mW, Mb, Ms.
pub(super) fn is_unit_by_case(piece: &str) -> bool {
    let Some(unit) = unit_of(piece).filter(|_| piece.chars().count() <= MAX_UNIT_LETTERS) else {
        return false;
    };
    let (small, capital) = (piece.to_lowercase(), piece.to_uppercase());
    let letters = small.chars().count();
    // The first letter has the highest bit: a large prefix comes first.
    let mut spellings = (1 << (letters - 1)..1_usize << letters).map(|capitals| {
        let letters = small.chars().zip((0..letters).rev());
        let letter = |(c, bit): (char, usize)| match capitals >> bit & 1 {
            1 => c.to_ascii_uppercase(),
            _ => c,
        };
        letters.map(letter).collect::<String>()
    });
    let usual = unit_of(&small).or_else(|| unit_of(&capital));
    match usual {
        Some(usual) => usual != unit,
        None => spellings.find_map(|one| Some(unit_of(&one)? != unit)) == Some(true),
    }
}
