//! 도움말. 명령은 그 경로로, 인수는 명령 뒤에 `--이름`이나 `<이름>`으로, 고를 수 있는 값은 인수 뒤에 적습니다. 인수와 값은 명령에 줄이
//! 없으면 위 명령의 줄을 씁니다: `task <task>`는 모든 `task` 명령의 작업입니다.

/// Declares the lines of help pages: subject and text. Only `--help` shows a second paragraph.
macro_rules! lines {
    ($($about:literal => $text:literal;)+) => {
        pub(super) const LINES: &[(&str, &str)] = &[$(($about, $text)),+];
    };
}

mod agents;
mod develop;
mod files;
mod memory;
mod orchestrate;
mod task;
mod thinking;

/// Returns every line, in the order of the pages.
pub fn help_lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    let pages = [
        top::LINES,
        thinking::LINES,
        memory::LINES,
        develop::LINES,
        orchestrate::LINES,
        task::LINES,
        agents::LINES,
        files::LINES,
    ];
    pages.into_iter().flatten().copied()
}

/// Translations of the parser's own words. Longer ones come first; a line may break at every space.
const FRAME: [(&str, &str); 12] = [
    ("Usage:", "사용법:"),
    ("Commands:", "명령:"),
    ("Arguments:", "인수:"),
    ("Global options:", "공통 옵션:"),
    ("Options:", "옵션:"),
    ("Possible values:", "가능한 값:"),
    ("[possible", "[가능한"),
    ("values:", "값:"),
    ("[default:", "[기본값:"),
    ("[OPTIONS]", "[옵션]"),
    ("[COMMAND]", "[명령]"),
    ("<COMMAND>", "<명령>"),
];

/// Translates the parser's own words in a help page or a line of usage.
pub fn translate_frame(page: &str) -> String {
    FRAME
        .iter()
        .fold(page.to_owned(), |page, (english, korean)| {
            page.replace(english, korean)
        })
}

mod top {
    lines! {
        "bowline" => "AI 에이전트의 작업을 관리합니다: 지속되는 상태, 허용된 전이, 게이트, 복구\n\n명령 없이 실행하면 여기 있는 상태 파일과 다음에 쓸 수 있는 명령을 보여 줍니다.";
        "-C" => "이 폴더에서 시작한 것처럼 실행합니다";
        "--json" => "텍스트 대신 JSON으로 출력합니다";
        "--lang" => "출력 언어 (기본값: 로캘에 따름)";
        "--lang en" => "영어";
        "--lang ko" => "한국어";
        "--dry-run" => "아무것도 쓰지 않고 무슨 일이 일어날지만 보여 줍니다";
        "--help -h" => "도움말을 표시합니다 (자세한 설명은 '--help')";
        "--help --help" => "도움말을 표시합니다 (요약은 '-h')";
        "--version" => "버전을 표시합니다";
        "help" => "이 도움말이나 지정한 명령의 도움말을 표시합니다";
    }
}
