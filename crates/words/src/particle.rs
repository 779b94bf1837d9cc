//! Chooses Korean particles that fit the preceding word.
//!
//! A text contains placeholders where a particle depends on a parameter; [`fitted`] replaces them
//! once all values are filled in. A placeholder is a Unicode noncharacter, which exchanged text
//! never contains.

/// Topic particle: 은 or 는.
pub(crate) const 은: char = '\u{fdd0}';
/// Subject particle: 이 or 가.
pub(crate) const 이: char = '\u{fdd1}';
/// Object particle: 을 or 를.
pub(crate) const 을: char = '\u{fdd2}';
/// Comitative particle ("with"): 과 or 와.
pub(crate) const 과: char = '\u{fdd3}';
/// Instrumental particle ("by", "to"): 으로 or 로.
pub(crate) const 으로: char = '\u{fdd4}';
/// Stem of "to be" before 라서, 라는, 지만: 이 or nothing.
pub(crate) const 이다: char = '\u{fdd5}';
/// Particle for "has to be": 이어야 or 여야.
pub(crate) const 이어야: char = '\u{fdd6}';

/// Final sound of a word, as far as it decides about particles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalSound {
    Vowel,
    /// The consonant ㄹ, which takes 로 as a vowel does.
    Rieul,
    Consonant,
}

/// Replaces every placeholder with the particle that fits.
pub(crate) fn fitted(sentence: &str) -> String {
    let mut text = String::with_capacity(sentence.len());
    for letter in sentence.chars() {
        let (closed, open) = match letter {
            은 => ("은", "는"),
            이 => ("이", "가"),
            을 => ("을", "를"),
            과 => ("과", "와"),
            으로 => ("으로", "로"),
            이다 => ("이", ""),
            이어야 => ("이어야", "여야"),
            other => {
                text.push(other);
                continue;
            }
        };
        let chosen = match last_sound(&text) {
            FinalSound::Vowel => open,
            FinalSound::Rieul if letter == 으로 => open,
            FinalSound::Rieul | FinalSound::Consonant => closed,
        };
        text.push_str(chosen);
    }
    text
}

/// Returns the final sound; quotes, brackets and full stops are not spoken.
fn last_sound(text: &str) -> FinalSound {
    let spoken = text.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let Some(last) = spoken.chars().next_back() else {
        return FinalSound::Vowel;
    };
    match last {
        '가'..='힣' => match (u32::from(last) - u32::from('가')) % 28 {
            0 => FinalSound::Vowel,
            8 => FinalSound::Rieul,
            _ => FinalSound::Consonant,
        },
        // 일, 칠, 팔; 영 (or 십, 백, 천, 만), 삼, 육.
        '1' | '7' | '8' => FinalSound::Rieul,
        '0' | '3' | '6' => FinalSound::Consonant,
        letter if letter.is_ascii_alphabetic() => {
            let begin = spoken.rfind(|letter: char| !letter.is_ascii_alphabetic());
            let word = begin.map_or(spoken, |at| {
                let other = spoken[at..].chars().next().map_or(0, char::len_utf8);
                &spoken[at + other..]
            });
            latin_final_sound(&word.to_ascii_lowercase())
        }
        _ => FinalSound::Vowel,
    }
}

/// Returns the final sound of a Latin word as Koreans read it: spelled out if it has no vowel,
/// otherwise as a loanword.
fn latin_final_sound(word: &str) -> FinalSound {
    let vowel = |letter: Option<char>| letter.is_some_and(|letter| "aeiouy".contains(letter));
    let mut back = word.chars().rev();
    let (last, second, third) = (back.next(), back.next(), back.next());
    let spelled = !word.chars().any(|letter| vowel(Some(letter)));
    match (last, second) {
        (Some('l' | 'r'), _) if spelled => FinalSound::Rieul,
        (Some('m' | 'n'), _) => FinalSound::Consonant,
        _ if spelled => FinalSound::Vowel,
        (Some('l'), _) | (Some('e'), Some('l')) => FinalSound::Rieul,
        // 네임, 라인; but 미, 니.
        (Some('e'), Some('m' | 'n')) if third.is_some() => FinalSound::Consonant,
        (Some('g'), Some('n')) => FinalSound::Consonant,
        // 커밋, 탑, 북, 블록, 웹; but 루트, 테스트.
        (Some('t' | 'p' | 'k' | 'c' | 'b'), before) if vowel(before) && !vowel(third) => {
            FinalSound::Consonant
        }
        (Some('k'), Some('c')) => FinalSound::Consonant,
        _ => FinalSound::Vowel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_follow_the_last_sound() {
        for (sentence, expected) in [
            (format!("'완료'{이다}라서"), "'완료'라서"),
            (format!("'실패함'{이다}라서"), "'실패함'이라서"),
            (format!("k1{과}"), "k1과"),
            (format!("k2{과}"), "k2와"),
            (format!("'json'{으로}"), "'json'으로"),
            (format!("코드 1{으로}"), "코드 1로"),
            (format!("코드 3{으로}"), "코드 3으로"),
            (format!("코드 10{으로}"), "코드 10으로"),
            (format!("파일{으로}"), "파일로"),
            (format!("파일{을}"), "파일을"),
            (format!("/a/b/state.json{이}"), "/a/b/state.json이"),
            (format!("/a/b/TASKS.md{이}"), "/a/b/TASKS.md가"),
            (format!("/a/작업{은}"), "/a/작업은"),
            (format!("게이트{을}"), "게이트를"),
            (format!("'planning'{을}"), "'planning'을"),
            (format!("'selection'{은}"), "'selection'은"),
            (format!("REVIEW{으로}"), "REVIEW로"),
            (format!("DESIGN{으로}"), "DESIGN으로"),
            (format!("PR{으로}"), "PR로"),
            (format!("PR{은}"), "PR은"),
            (format!("DONE{이}"), "DONE이"),
            (format!("root{을}"), "root를"),
            (format!("commit{을}"), "commit을"),
            (format!("'cp-1'{은}"), "'cp-1'은"),
            (format!("문자열{이어야} 합니다"), "문자열이어야 합니다"),
            (format!("숫자{이어야} 합니다"), "숫자여야 합니다"),
            (format!("'{을}"), "'를"),
        ] {
            assert_eq!(fitted(&sentence), expected);
        }
    }

    #[test]
    fn values_stay_as_they_are() {
        assert_eq!(fitted("을(를) 이(가) \u{fdef}"), "을(를) 이(가) \u{fdef}");
    }
}
