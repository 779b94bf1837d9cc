//! Sentences with values in them, in Korean: what is found in files, and what is wrong with input.
//!
//! They come as English texts. A table of sentences with holes translates them; what is not in the table is shown as it
//! is, which is better than not at all.

/// English sentences and their Korean, `{}` where a value stands. The first that fits counts, so the longer ones of two
/// that begin alike come first.
const SENTENCES: &[(&str, &str)] = &[
    (
        "the key {} cannot be read: {}",
        "키 {}을(를) 읽을 수 없습니다: {}",
    ),
    ("the key {} is empty", "키 {}이(가) 비어 있습니다"),
    (
        "make one with 'head -c 32 /dev/urandom | base64 > FILE', readable only by you",
        "'head -c 32 /dev/urandom | base64 > 파일'로 만들고 자신만 읽을 수 있게 하세요",
    ),
    ("not JSON: {}", "JSON이 아닙니다: {}"),
    (
        "the scenario {} cannot be read: {}",
        "시나리오 {}을(를) 읽을 수 없습니다: {}",
    ),
    (
        "{}: the scenario cannot be read: {}",
        "{}: 시나리오를 읽을 수 없습니다: {}",
    ),
    (
        "name a scenario file; docs/scripted-agent.md says what is in one",
        "시나리오 파일을 적으세요. docs/scripted-agent.md에 설명이 있습니다",
    ),
    (
        "docs/scripted-agent.md lists the steps",
        "docs/scripted-agent.md에 단계 목록이 있습니다",
    ),
    (
        "there is no turn {}: the last wait is number {}",
        "{}번째 턴은 없습니다. 마지막 wait는 {}번째입니다",
    ),
    (
        "name a smaller number; 0 is the beginning",
        "더 작은 수를 적으세요. 0이 처음입니다",
    ),
    (
        "name a file or folder that exists: a sandbox is built around what is there",
        "있는 파일이나 폴더를 적으세요. 샌드박스는 있는 것을 둘러쌉니다",
    ),
    ("is missing", "없습니다"),
    ("there are no stages", "단계(stages)가 없습니다"),
    ("there is neither a task nor null", "작업도 null도 아닙니다"),
    ("there is no list of tasks", "작업 목록이 없습니다"),
    ("there are no lists of tasks", "작업 목록들이 없습니다"),
    (
        "there is neither a session nor shared data",
        "세션도 공유 데이터도 없습니다",
    ),
    (
        "there is no phase that is known",
        "알려진 단계(phase)가 없습니다",
    ),
    ("there is no stage '{}'", "'{}' 단계는 없습니다"),
    ("the agent has no name", "에이전트 이름이 없습니다"),
    (
        "the file is not a JSON object",
        "파일이 JSON 객체가 아닙니다",
    ),
    (
        "the file is gone, but its journal is here",
        "파일이 사라졌지만 저널은 남아 있습니다",
    ),
    (
        "the key stands more than once; the last one counts",
        "같은 키가 여러 번 있습니다. 마지막 값을 씁니다",
    ),
    (
        "the task '{}' is there twice",
        "작업 '{}'이(가) 두 번 있습니다",
    ),
    (
        "a task that is over is not in the history yet",
        "끝난 작업이 아직 이력에 없습니다",
    ),
    (
        "is not made of small letters, digits and dashes",
        "소문자, 숫자, '-'로만 이루어지지 않았습니다",
    ),
    ("is not one of {}", "{} 중 하나가 아닙니다"),
    ("'{}' is not one of {}", "'{}'은(는) {} 중 하나가 아닙니다"),
    ("'{}' is not a time", "'{}'은(는) 시각이 아닙니다"),
    ("'{}' is not a version", "'{}'은(는) 버전이 아닙니다"),
    (
        "is missing, but the rest of the file makes it {}",
        "없지만 나머지 내용에 따르면 {}입니다",
    ),
    (
        "is {}, but the rest of the file makes it {}",
        "{}이지만 나머지 내용에 따르면 {}입니다",
    ),
    (
        "is {}, but scores go from 0 to 10",
        "{}입니다. 점수는 0에서 10까지입니다",
    ),
    (
        "is {}, but metrics go from 0 to 1",
        "{}입니다. 지표는 0에서 1까지입니다",
    ),
    ("is before started_at", "started_at보다 앞섭니다"),
    (
        "is not about a task of this run",
        "이 실행의 작업이 아닙니다",
    ),
    ("says nothing", "아무 내용이 없습니다"),
    ("should be the number of a step", "단계 번호여야 합니다"),
    ("should be a list of tasks", "작업 목록이어야 합니다"),
    ("should be {}, is {}", "{}이어야 하는데 {}입니다"),
    ("should be {}", "{}이어야 합니다"),
    (
        "version {} is newer than {}, the newest this program writes",
        "버전 {}은(는) 이 프로그램이 쓰는 최신 버전 {}보다 새롭습니다",
    ),
    (
        "version {} is older than {}; the first change brings it up to date",
        "버전 {}은(는) {}보다 오래되었습니다. 처음 변경할 때 갱신됩니다",
    ),
    ("{} is an older name of {}", "{}은(는) {}의 옛 이름입니다"),
    (
        "{} of its entries are no ids of tasks",
        "항목 {}개가 작업 id가 아닙니다",
    ),
    (
        "{} attempts are more than the limit",
        "시도 {}회는 한도를 넘습니다",
    ),
    // The journal and the lock.
    (
        "the journal line at byte {} cannot be read",
        "저널의 {}바이트 위치에 있는 줄을 읽을 수 없습니다",
    ),
    (
        "the journal could not be read and was set aside as {}",
        "저널을 읽을 수 없어 {}(으)로 옮겼습니다",
    ),
    (
        "the journal goes from line {} to line {}: history and undo end there",
        "저널이 {}번 줄에서 {}번 줄로 건너뜁니다. 이력과 되돌리기는 거기서 끝납니다",
    ),
    (
        "change {} of the journal does not fit the file",
        "저널의 변경 {}번이 파일과 맞지 않습니다",
    ),
    (
        "the steps before mark {} were replayed to another text than the one written",
        "표시 {}번 이전의 단계를 다시 적용한 결과가 기록된 내용과 다릅니다",
    ),
    (
        "the lock file of {} was left behind and was taken over",
        "{}이(가) 남긴 잠금 파일을 넘겨받았습니다",
    ),
    (
        "a version written by another program was kept as {}",
        "다른 프로그램이 쓴 버전을 {}(으)로 보관했습니다",
    ),
    (
        "task '{}' is in the history already and is no longer current",
        "작업 '{}'은(는) 이미 이력에 있어 더는 현재 작업이 아닙니다",
    ),
    (
        "the history could not be written now ({}); the next command does it",
        "지금은 이력을 쓸 수 없습니다({}). 다음 명령이 씁니다",
    ),
    // What happened to a file, told among its findings.
    (
        "the lock file was removed while its owner was still writing; nothing was lost, the owner was waited for",
        "쓰고 있는 프로그램의 잠금 파일이 삭제되어, 그 프로그램이 끝날 때까지 기다렸습니다. 잃은 것은 없습니다",
    ),
    (
        "{} committed change(s) had not reached the file yet; they are shown as committed, and the next change completes them",
        "확정된 변경 {}건이 아직 파일에 없습니다. 확정된 상태로 보여 주며, 다음 변경이 파일을 마저 씁니다",
    ),
    (
        "completed what was committed and had not reached the file",
        "확정되었으나 파일에 없던 변경을 반영했습니다",
    ),
    (
        "the file was put back by hand as it was after transition {}, which takes back {}; 'bowline restore NUMBER' brings a later version back",
        "누군가 파일을 전이 {}번 직후의 내용으로 되돌려 놓아 다음 전이가 취소되었습니다: {}. 'bowline restore 번호'로 이후 버전을 되찾을 수 있습니다",
    ),
    (
        "the file was put back by hand as it was after transition {}",
        "누군가 파일을 전이 {}번 직후의 내용으로 되돌려 놓았습니다",
    ),
    (
        "the file is now about '{}', it was about '{}': nothing of that was applied to it",
        "파일이 이제 '{}'에 관한 것입니다. 전에는 '{}'에 관한 것이었으며, 그 내용은 적용하지 않았습니다",
    ),
    (
        "{} committed change(s) had not reached the file and were completed",
        "확정되었으나 파일에 없던 변경 {}건을 반영했습니다",
    ),
    (
        "the file was changed outside Bowline and lacks acknowledged transitions: {}",
        "Bowline 밖에서 파일이 변경되어 확정된 전이가 사라졌습니다: {}",
    ),
    (
        "the file was changed outside Bowline",
        "Bowline 밖에서 파일이 변경되었습니다",
    ),
    (
        "the file was damaged: {}; the damaged one is {}",
        "파일이 손상되었습니다: {}. 손상된 파일: {}",
    ),
    ("the file was missing: {}", "파일이 없었습니다: {}"),
    (
        "restored from the journal as it was last written",
        "저널에서 마지막으로 기록된 그대로 복원했습니다",
    ),
    ("restored from {}", "{}에서 복원했습니다"),
    ("rebuilt from other files", "다른 파일로 다시 만들었습니다"),
    (
        "nothing to restore it from was found, so it begins anew",
        "복원할 것이 없어 새로 시작합니다",
    ),
    (
        "core.hooksPath is {}, which other repositories use too",
        "core.hooksPath가 {}이라 다른 저장소와 함께 쓰입니다",
    ),
    (
        "give this repository hooks of its own: 'git config core.hooksPath .git/hooks'",
        "이 저장소만의 훅을 쓰세요: 'git config core.hooksPath .git/hooks'",
    ),
    (
        "{} would change the tree it is about",
        "{}을(를) 쓰면 증거가 말하는 트리가 바뀝니다",
    ),
    (
        "keep it outside the work tree, or where git ignores it",
        "작업 트리 밖이나 git이 무시하는 곳에 두세요",
    ),
    // Repairs.
    (
        "closed {}: a repair leaves no gate open; each has to be passed again",
        "{}을(를) 닫았습니다. 고친 뒤에는 열린 gate가 없으므로 다시 통과해야 합니다",
    ),
    (
        "no longer passed: {}; nothing that is left shows it",
        "통과 취소: {}. 남은 기록으로는 통과를 확인할 수 없습니다",
    ),
    (
        "phase {} instead of {}: the journal is gone, and this is what the copies and the evidence left of it show",
        "{} phase로 두었습니다({} 아님). 저널이 없어 남은 사본과 증거가 보여 주는 대로 정했습니다",
    ),
    (
        "'bowline doctor --repair' applies them again",
        "'bowline doctor --repair'가 다시 적용합니다",
    ),
    ("applied {} again", "{}을(를) 다시 적용했습니다"),
    (
        "wrote the finished task to the history",
        "끝난 작업을 이력에 썼습니다",
    ),
    ("write it there", "이력에 씁니다"),
    ("set it to {}", "{}(으)로 바꿉니다"),
    (
        "set status to in_progress: no step failed",
        "실패한 단계가 없으므로 status를 in_progress로 바꿉니다",
    ),
    ("set {} to null", "{}을(를) null로 바꿉니다"),
    ("set {} to {}", "{}을(를) {}(으)로 바꿉니다"),
    ("remove it", "지웁니다"),
    ("leave it out", "뺍니다"),
    ("leave them out", "뺍니다"),
    ("keep the ids", "id만 남깁니다"),
    ("close it", "닫습니다"),
    (
        "add an error without a message",
        "내용 없는 오류를 추가합니다",
    ),
    (
        "add an issue for the failed step {}",
        "실패한 {}번 단계의 이슈를 추가합니다",
    ),
    ("call the issue resolved", "이슈를 해결된 것으로 표시합니다"),
    (
        "make resolved_at agree with resolved",
        "resolved_at을 resolved에 맞춥니다",
    ),
    ("number them anew", "번호를 다시 매깁니다"),
    // Input that cannot be used, and what to do about it.
    ("the task id is empty", "작업 id가 비어 있습니다"),
    ("give the task an id", "작업 id를 적으세요"),
    (
        "{} is '{}', which is not a time",
        "{} 값 '{}'은(는) 시각이 아닙니다",
    ),
    (
        "give it a time such as {}, or unset it",
        "{} 같은 시각으로 바꾸거나 지우세요",
    ),
    ("{} is not a folder", "{}은(는) 폴더가 아닙니다"),
    ("give -C an existing folder", "-C에 있는 폴더를 지정하세요"),
    (
        "give --dir a folder; it is made where it is missing",
        "--dir에 폴더를 지정하세요. 없으면 만듭니다",
    ),
    ("'{}' is not NAME=VALUE", "'{}'은(는) 이름=값 꼴이 아닙니다"),
    ("'{}' is given twice", "'{}'을(를) 두 번 적었습니다"),
    ("give each name once", "이름마다 한 번만 적으세요"),
    (
        "{} is too large to be kept exactly",
        "{}은(는) 너무 커서 그대로 저장할 수 없습니다",
    ),
    (
        "give it as text, in double quotes",
        "큰따옴표로 묶어 글자로 적으세요",
    ),
    (
        "'{}' is the beginning of several ids: {}",
        "'{}'(으)로 시작하는 id가 여럿입니다: {}",
    ),
    ("give more letters of the id", "id를 더 길게 적으세요"),
    (
        "{}: {} is not a list of step numbers",
        "{}: {}은(는) 단계 번호의 목록이 아닙니다",
    ),
    (
        "{}: 'dependencies' and 'deps' are the same",
        "{}: 'dependencies'와 'deps'는 같은 것입니다",
    ),
    ("'{}' is not KEY=VALUE", "'{}'은(는) 키=값 꼴이 아닙니다"),
    ("for instance {}", "예: {}"),
    ("'{}' is not a number", "'{}'은(는) 숫자가 아닙니다"),
    (
        "give a number such as 8, 0.75 or 6.8%",
        "8, 0.75, 6.8% 같은 숫자를 적으세요",
    ),
    (
        "'{}' is not an agent's name",
        "'{}'은(는) 에이전트 이름이 아닙니다",
    ),
    (
        "use small letters, digits and '-'",
        "소문자, 숫자, '-'를 쓰세요",
    ),
    (
        "{}: {} is not a step number",
        "{}: {}은(는) 단계 번호가 아닙니다",
    ),
    ("{}: there are no steps", "{}: 단계(steps)가 없습니다"),
    ("a plan is {}", "계획의 모양: {}"),
    (
        "'{}' is not a step number",
        "'{}'은(는) 단계 번호가 아닙니다",
    ),
    ("a step has no '{}'", "단계에는 '{}'이(가) 없습니다"),
    (
        "'{}' is not the number of a transition",
        "'{}'은(는) 전이 번호가 아닙니다",
    ),
    (
        "'bowline history' lists them",
        "'bowline history'로 확인하세요",
    ),
    ("there is no code '{}'", "'{}'(이)라는 코드는 없습니다"),
    (
        "'bowline explain' lists all codes",
        "'bowline explain'이 모든 코드를 보여 줍니다",
    ),
    ("there is no schema '{}'", "'{}'(이)라는 스키마는 없습니다"),
    ("use one of {}", "{} 중 하나를 쓰세요"),
    (
        "'{}' gives a value, and so does --from",
        "'{}'에도 값이 있고 --from에도 있습니다",
    ),
    (
        "with --from, --metric is the name alone",
        "--from을 쓰면 --metric에는 이름만 적으세요",
    ),
    (
        "'{}' is what is computed, not a metric",
        "'{}'은(는) 계산되는 값이며 지표가 아닙니다",
    ),
    ("give the metric another name", "지표에 다른 이름을 쓰세요"),
    (
        "a task cannot take over its own lessons",
        "작업은 자기 자신의 피드백을 반영할 수 없습니다",
    ),
    (
        "name the folder of another task",
        "다른 작업의 폴더를 지정하세요",
    ),
    ("say what was hoped for, {}", "목표를 적으세요. {}"),
    ("{} has no target", "{}에 목표가 없습니다"),
    (
        "{} has no number '{}'; it has {}",
        "{}에 숫자 '{}'이(가) 없습니다. 있는 것: {}",
    ),
    (
        "{} has several numbers and does not say which is meant: {}",
        "{}에 숫자가 여러 개 있어 무엇인지 알 수 없습니다: {}",
    ),
    (
        "{} has a target that is no number: {}",
        "{}의 목표가 숫자가 아닙니다: {}",
    ),
    (
        "{} is not a JSON object: {}",
        "{}은(는) JSON 객체가 아닙니다: {}",
    ),
    (
        "it should be like {}; --metric NAME says which number is meant",
        "{} 같은 모양이어야 합니다. --metric 이름으로 숫자를 고릅니다",
    ),
    (
        "{} weights add up to {}, not to 1",
        "{}의 가중치 합이 {}입니다. 1이어야 합니다",
    ),
    (
        "mend the settings, or take the file away to use the defaults",
        "설정을 고치거나 파일을 치우면 기본값을 씁니다",
    ),
    ("{} cannot be read: {}", "{}을(를) 읽을 수 없습니다: {}"),
    ("choose another copy", "다른 사본을 고르세요"),
    ("{} is not there", "{}이(가) 없습니다"),
];

/// Kinds of values, as they stand in the holes.
const WORDS: &[(&str, &str)] = &[
    ("text", "문자열"),
    ("text or null", "문자열 또는 null"),
    ("a number", "숫자"),
    ("a number or null", "숫자 또는 null"),
    ("a whole number", "정수"),
    ("a time", "시각"),
    ("a time or null", "시각 또는 null"),
    ("a list", "목록"),
    ("an object", "객체"),
    ("an object or null", "객체 또는 null"),
    ("an object or text", "객체 또는 문자열"),
    ("true or false", "참 또는 거짓"),
    ("the limit", "한도"),
    ("missing", "없음"),
];

/// Rules of the machines by name, and what each demands.
const RULES: &[(&str, &str)] = &[
    (
        "attempts_within_limit",
        "시도 횟수는 한도를 넘지 않아야 합니다",
    ),
    (
        "begun_stage_has_completed_dependency",
        "시작한 단계의 앞 단계는 완료되어 있어야 합니다",
    ),
    (
        "begun_step_has_completed_dependencies",
        "시작한 단계의 선행 단계는 완료되어 있어야 합니다",
    ),
    (
        "blocked_exactly_behind_a_failure",
        "실패한 작업 뒤에 있을 때만 차단됩니다",
    ),
    (
        "completed_at_exactly_when_completed",
        "completed_at은 완료되었을 때만 있어야 합니다",
    ),
    (
        "completed_at_exactly_when_ended",
        "completed_at은 끝났을 때만 있어야 합니다",
    ),
    (
        "completed_at_only_when_finished",
        "completed_at은 모두 끝났을 때만 있어야 합니다",
    ),
    (
        "completed_without_error",
        "완료된 작업에는 오류가 없어야 합니다",
    ),
    (
        "current_phase_is_the_first_unfinished",
        "현재 단계(phase)는 끝나지 않은 첫 단계여야 합니다",
    ),
    ("current_task_is_open", "끝난 작업은 이력에 있어야 합니다"),
    (
        "error_counts_like_its_step",
        "오류의 재시도 횟수는 단계의 횟수와 같아야 합니다",
    ),
    (
        "error_exactly_when_failed",
        "오류(error)는 실패했을 때만 있어야 합니다",
    ),
    (
        "escalated_step_is_failed",
        "사람에게 넘긴 단계는 실패 상태여야 합니다",
    ),
    (
        "landed_phase_is_complete",
        "병합된 단계(phase)는 완료되어 있어야 합니다",
    ),
    (
        "outputs_inside_folder",
        "산출물은 작업 폴더 안에 있어야 합니다",
    ),
    (
        "pending_task_is_not_begun",
        "대기 중인 작업은 시작한 단계가 없어야 합니다",
    ),
    (
        "plan_is_sound",
        "계획의 단계 번호와 의존성이 올바라야 합니다",
    ),
    (
        "ready_exactly_when_free_in_the_current_phase",
        "현재 단계(phase)에서 선행 작업이 모두 끝났을 때만 실행 대기입니다",
    ),
    (
        "resolved_at_exactly_when_resolved",
        "resolved_at은 해결되었을 때만 있어야 합니다",
    ),
    (
        "retries_within_limit",
        "재시도 횟수는 한도를 넘지 않아야 합니다",
    ),
    (
        "retry_count_within_limit",
        "재시도 횟수는 한도를 넘지 않아야 합니다",
    ),
    (
        "stage_in_progress_is_current",
        "진행 중인 단계는 current_stage여야 합니다",
    ),
    (
        "started_at_exactly_when_begun",
        "started_at은 시작했을 때만 있어야 합니다",
    ),
    (
        "started_only_in_progress",
        "시작 시각은 진행 중일 때만 있어야 합니다",
    ),
    ("task_ids_unique", "작업 id는 하나씩만 있어야 합니다"),
    ("times_in_order", "시각의 순서가 맞아야 합니다"),
    (
        "unresolved_escalation_exactly_when_failed",
        "해결되지 않은 이슈는 작업이 실패했을 때만 있어야 합니다",
    ),
    (
        "waiting_task_is_not_begun",
        "대기열의 작업은 시작한 단계가 없어야 합니다",
    ),
];

/// A sentence in Korean; as it is where nobody translated it.
pub(crate) fn translated(english: &str) -> String {
    if let Some((rule, rest)) = english.split_once(": ")
        && let Some((_, korean)) = RULES.iter().find(|(name, _)| *name == rule)
    {
        return format!("{korean} ({rest})");
    }
    for (pattern, korean) in all() {
        if let Some(values) = holes(pattern, english) {
            return filled(korean, &values);
        }
    }
    english.to_owned()
}

/// All sentences; those about plans first, which nothing else is said like.
fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let verbs = crate::commands::orchestrate_words::SENTENCES;
    super::plans::SENTENCES.iter().chain(verbs).chain(SENTENCES)
}

/// What stands in the holes of a pattern, if a text fits it.
fn holes<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut values = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let end = match parts.peek() {
            None => rest.strip_suffix(part)?.len(),
            Some(_) => rest.find(part)?,
        };
        values.push(&rest[..end]);
        rest = &rest[end + part.len()..];
    }
    rest.is_empty().then_some(values)
}

fn filled(korean: &str, values: &[&str]) -> String {
    let mut parts = korean.split("{}");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, value) in parts.zip(values) {
        let word = WORDS.iter().find(|(english, _)| english == value);
        // A value may be a sentence itself: what a file was restored from.
        let value = word.map_or_else(|| sentence_or_value(value), |(_, word)| (*word).to_owned());
        text.push_str(&value);
        text.push_str(part);
    }
    text
}

/// Whole sentences without holes only: a value of the file must not be taken for one of ours.
fn sentence_or_value(value: &str) -> String {
    if let Some(words) = value.strip_prefix("one of ") {
        return format!("{words} 중 하나");
    }
    let known = SENTENCES.iter().find(|(english, _)| *english == value);
    known.map_or_else(|| value.to_owned(), |(_, korean)| (*korean).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_and_words_are_translated() {
        assert_eq!(
            translated("should be text, is a number"),
            "문자열이어야 하는데 숫자입니다"
        );
        assert_eq!(
            translated("should be one of a, b, is null"),
            "a, b 중 하나이어야 하는데 null입니다"
        );
        assert_eq!(
            translated("is 40, but the rest of the file makes it 75"),
            "40이지만 나머지 내용에 따르면 75입니다"
        );
        assert_eq!(
            translated("times_in_order: planning ends before it starts"),
            "시각의 순서가 맞아야 합니다 (planning ends before it starts)"
        );
        assert_eq!(translated("'x' is not a time"), "'x'은(는) 시각이 아닙니다");
        assert_eq!(translated("nobody knows this"), "nobody knows this");
    }

    #[test]
    fn every_pattern_has_as_many_holes_in_both_languages() {
        for (english, korean) in all() {
            let count = |text: &str| text.matches("{}").count();
            assert_eq!(count(english), count(korean), "{english}");
        }
    }

    #[test]
    fn no_pattern_hides_a_later_one() {
        for (place, (english, _)) in all().enumerate() {
            let text = english.replace("{}", "7");
            let first = all().position(|(pattern, _)| holes(pattern, &text).is_some());
            assert_eq!(first, Some(place), "{english}");
        }
    }
}
