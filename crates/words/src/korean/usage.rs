//! 읽을 수 없는 명령줄.

use crate::particle::*;

table! {
    misused: Misused => text {
        NoCommand { name } => "'{name}'{은} 없는 명령입니다";
        CommandMissing => "명령이 빠졌습니다";
        NoArgument { name } => "'{name}'{은} 여기서 쓸 수 없는 인수입니다";
        ArgumentMissing { names } => "필요한 인수가 빠졌습니다: {names}";
        ValueMissing { argument } => "{argument}에 값이 필요합니다";
        BadValue { argument, value } => "{argument}에 '{value}'{은} 쓸 수 없는 값입니다";
        WrongCount { argument } => "{argument}에 준 값의 수가 맞지 않습니다";
        MoreValues { argument } => "{argument}에 값이 더 필요합니다";
        Conflict { argument, other } => "{argument}{은} {other}{과} 함께 쓸 수 없습니다";
        NotText => "명령줄에 읽을 수 없는 글자가 있습니다";
        Other { text } => "{text}";
    }

    rightly: Rightly => text {
        DidYouMean { word, help } => "혹시 {word}인가요? 자세한 내용은 '{help}'{을} 참고하세요";
        OneOf { values } => "쓸 수 있는 값: {values}";
        See { help } => "자세한 내용은 '{help}'{을} 참고하세요";
        Say { command, help } => "이렇게 입력하세요: '{command}'. 자세한 내용은 '{help}'{을} 참고하세요";
        StepNumber { help } => "단계는 'bowline memory status'에 나오는 번호로 가리킵니다. 자세한 내용은 '{help}'{을} 참고하세요";
    }
}
