//! Tests that texts of other programs inside our messages are translated into Korean.

use crate::Lang::Ko;
use crate::message::{
    BodyFault, Cause, Change, Doubt, Label, NoGroup, NotRun, ServerNo, Trouble, ValueFault,
};

#[test]
fn the_words_of_others_are_told_in_korean() {
    let cause = |kind, number| Cause::System {
        kind,
        number: Some(number),
        text: format!("in other words (os error {number})"),
    };
    let why = NotRun::Program {
        name: "nosuch".into(),
        cause: cause(std::io::ErrorKind::NotFound, 2),
    };
    let id = "a1".to_owned();
    assert_eq!(
        Trouble::AgentNotStarted { id, why }.say(Ko).0,
        "에이전트 실행 a1의 에이전트를 시작할 수 없습니다: 프로그램 'nosuch': 파일이나 폴더가 없습니다"
    );
    let group = |reason: NoGroup| Label::NoGroup { reason }.say(Ko);
    let place = "/g".to_owned();
    assert_eq!(
        group(NoGroup::NotAllowed {
            place: place.clone()
        }),
        "이 사용자는 /g와 그 주변에 그룹을 만들 수 없습니다"
    );
    let cause = cause(std::io::ErrorKind::ReadOnlyFilesystem, 30);
    assert_eq!(
        group(NoGroup::NotMade { place, cause }),
        "/g에 그룹을 만들 수 없습니다: 읽기 전용 파일 시스템입니다"
    );
    let body = |fault: BodyFault| ServerNo::BadBody { fault }.say(Ko).0;
    let said = "missing field `title`".to_owned();
    let (line, column) = (1, 2);
    assert_eq!(
        body(BodyFault::Json { line, column, said }),
        "본문을 읽을 수 없습니다: 1번째 줄 2번째 글자까지의 내용이 형식에 맞지 않습니다"
    );
    let name = "title".to_owned();
    assert_eq!(
        body(BodyFault::TooLong { name, max: 9 }),
        "본문을 읽을 수 없습니다: title이 9자를 넘습니다"
    );
    let fault = ValueFault::ApiKeyTooShort { min: 8 };
    assert_eq!(
        ServerNo::BadValue { fault }.say(Ko).0,
        "쓸 수 없는 값입니다: API 키는 8자 이상이어야 합니다"
    );
    let (completed, total) = (1, 3);
    let summary = Label::StepsCompleted { completed, total };
    assert_eq!(summary.say(Ko), "3단계 중 1단계 완료");
}

#[test]
fn doubts_about_evidence_are_korean_as_a_whole() {
    let gate = || "review_clean_pass".to_owned();
    let path = "tests/a.sh".to_owned();
    let reasons = vec![
        Doubt::NoEvidence { gate: gate() },
        Doubt::Is {
            change: Change::OtherSeal { gate: gate() },
        },
        Doubt::Since {
            change: Change::Removed { path },
        },
    ];
    assert_eq!(
        Trouble::NotVerified { reasons }.say(Ko).0,
        "확인되지 않았습니다: 게이트 'review_clean_pass'가 증거 없이 열려 있음; \
         게이트 'review_clean_pass'를 다른 봉인 아래에서 통과함; 그 뒤에 바뀜: tests/a.sh (삭제됨)"
    );
}
