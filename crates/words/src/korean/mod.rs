//! Korean (한국어) texts. One line per message; parameters are written in braces, and so are particles
//! that follow one: `{은}` 은/는, `{이}` 이/가, `{을}` 을/를, `{과}` 과/와, `{으로}` 으로/로, `{이다}` 이라서/라서, `{이어야}`
//! 이어야/여야.

mod file;
mod found;
mod gate;
pub mod help;
mod input;
mod plan;
mod proof;
mod refusals;
mod run;
mod said;
mod server;
#[cfg(test)]
mod tests;
mod tool;
mod troubles;
mod usage;
mod web;
mod web_forms;

pub(crate) use file::*;
pub(crate) use found::*;
pub(crate) use gate::*;
pub(crate) use input::*;
pub(crate) use plan::*;
pub(crate) use proof::*;
pub(crate) use refusals::*;
pub(crate) use run::*;
pub(crate) use said::*;
pub(crate) use server::*;
pub(crate) use tool::*;
pub(crate) use troubles::*;
pub(crate) use usage::*;
pub(crate) use web::*;
pub(crate) use web_forms::*;

use crate::Lang::Ko;
use crate::message::{Passage, Status};
use crate::particle::*;
use std::io::ErrorKind;

/// Translates an error of the operating system.
fn translate_system_error(kind: ErrorKind, number: Option<i32>) -> String {
    match kind {
        ErrorKind::NotFound => "파일이나 폴더가 없습니다".into(),
        ErrorKind::PermissionDenied => "권한이 없습니다".into(),
        ErrorKind::AlreadyExists => "이미 있습니다".into(),
        ErrorKind::NotADirectory => "폴더가 아닙니다".into(),
        ErrorKind::IsADirectory => "폴더입니다".into(),
        ErrorKind::DirectoryNotEmpty => "폴더가 비어 있지 않습니다".into(),
        ErrorKind::ReadOnlyFilesystem => "읽기 전용 파일 시스템입니다".into(),
        ErrorKind::StorageFull => "디스크에 남은 공간이 없습니다".into(),
        ErrorKind::QuotaExceeded => "디스크 할당량을 넘었습니다".into(),
        ErrorKind::FileTooLarge => "파일이 너무 큽니다".into(),
        ErrorKind::InvalidFilename => "파일 이름이 올바르지 않습니다".into(),
        ErrorKind::BrokenPipe => "받는 쪽이 닫혔습니다".into(),
        ErrorKind::ConnectionRefused => "연결이 거부되었습니다".into(),
        ErrorKind::ConnectionReset => "연결이 끊어졌습니다".into(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "제시간에 응답하지 않았습니다".into(),
        ErrorKind::UnexpectedEof => "중간에 끝났습니다".into(),
        ErrorKind::InvalidData => "내용이 올바르지 않습니다".into(),
        ErrorKind::OutOfMemory => "메모리가 부족합니다".into(),
        ErrorKind::CrossesDevices => "다른 파일 시스템에 있습니다".into(),
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => "사용 중입니다".into(),
        _ => match number {
            Some(number) => format!("운영체제 오류 {number}번입니다"),
            None => "알 수 없는 오류입니다".into(),
        },
    }
}

fn join_passages(passages: &[Passage]) -> String {
    let names: Vec<String> = passages.iter().map(|one| one.say(Ko)).collect();
    names.join(", ")
}

table! {
    notice: Notice => text {
        RolledForward { lines } => "확정되었으나 파일에 없던 변경 {lines}건을 반영했습니다";
        NotRolledForwardYet { lines } => "확정된 변경 {lines}건이 아직 파일에 없습니다. 확정된 상태로 보여 주며, 다음 변경이 파일을 마저 씁니다";
        OutsideEdit => "Bowline 밖에서 파일이 변경되었습니다";
        LostTransitions { lost } => "Bowline 밖에서 파일이 변경되어 확정된 전이가 사라졌습니다: {0}" [join_passages(lost)];
        PutBack { sequence } => "누군가 파일을 전이 {sequence}번 직후의 내용으로 되돌려 놓았습니다";
        PutBackTaking { sequence, taken } => "누군가 파일을 전이 {sequence}번 직후의 내용으로 되돌려 놓아 다음 전이가 취소되었습니다: {0}. 'bowline restore 번호'로 이후 버전을 되찾을 수 있습니다" [join_passages(taken)];
        AnotherTask { was, is } => "파일이 이제 '{is}'에 관한 것입니다. 전에는 '{was}'에 관한 것이었으며, 그 내용은 적용하지 않았습니다";
        Distrusted { places } => "Bowline 밖에서 바뀌어 인정하지 않는 값: {places}";
        PlanNotThere { path } => "상태 파일이 가리키는 계획 파일이 없습니다: {path}";
        AnotherPlan { path, foreign } => "상태 파일은 다른 계획의 것입니다. 작업 {foreign}개가 {path}에 없어 그것으로 세지 않습니다. 'tasks_file'에 계획을 적거나, 파일을 옮기고 'bowline orchestrate init'을 실행하세요";
        TreeNotCompared => "bowline.toml에 tree = false가 있어 확인하지 않은 트리도 반영될 수 있습니다";
        NotIgnored => "git이 .develop-workflow/를 무시하지 않습니다. .gitignore에 추가하세요";
        GitHooksElsewhere { path } => "git 훅이 꺼져 있어 커밋을 막지 못합니다. core.hooksPath: {path}. 'git config core.hooksPath .git/hooks' 다음에 'bowline init'을 실행하세요";
        GitHookMissing { path } => "git 훅이 꺼져 있어 커밋을 막지 못합니다. Bowline의 훅이 없습니다: {path}. 'bowline init'으로 다시 설치하세요";
        GitHookNotExecutable { path } => "git 훅이 꺼져 있어 커밋을 막지 못합니다. 실행 권한이 없습니다: {path}. 'chmod +x'로 실행 권한을 주세요";
        Mended { pointer, found } => "{pointer} {0}" [found.say(Ko)];
        MendedSo { pointer, found, repair } => "{pointer} {0}: {1}" [found.say(Ko), repair.say(Ko)];
        RestoredDamaged { from, aside } => "파일이 손상되어 {0}. 손상된 파일: {aside}" [from.say(Ko)];
        RestoredMissing { from } => "파일이 없어 {0}" [from.say(Ko)];
        BadJournalLine { offset } => "저널의 {offset}바이트 위치에 있는 줄을 읽을 수 없습니다";
        JournalSetAside { path } => "저널을 읽을 수 없어 {path}{으로} 옮겼습니다";
        JournalDoesNotFit { seq } => "저널의 변경 {seq}번이 파일과 맞지 않습니다";
        ReplayDiffers { seq } => "표시 {seq}번 이전의 단계를 다시 적용한 결과가 기록된 내용과 다릅니다";
        ForeignLockTakenOver { owner } => "{owner}{이} 남긴 잠금 파일을 넘겨받았습니다";
        LockRemoved => "쓰고 있는 프로그램의 잠금 파일이 삭제되어, 그 프로그램이 끝날 때까지 기다렸습니다. 잃은 것은 없습니다";
        KeptAside { path } => "다른 프로그램이 쓴 버전을 {path}{으로} 보관했습니다";
        AlreadyInHistory { id } => "작업 '{id}'{은} 이미 이력에 있어 더는 현재 작업이 아닙니다";
        HistoryNotWritten { error: _ } => "지금은 이력을 쓸 수 없습니다. 다음 명령이 씁니다";
        StillCurrent { id } => "작업 '{id}'{은} 이미 이력에 있습니다. 다음 변경이 정리합니다";
        NoPlanToTick { id } => "작업 {id}{을} 계획에 체크하지 못했습니다: 계획 파일이 없습니다";
        NotTicked { id, why: _ } => "작업 {id}{을} 계획에 체크하지 못했습니다: 계획에 그 작업이나 체크박스가 없습니다";
        NotTickedYet { id, why: _ } => "작업 {id}{을} 아직 계획에 체크하지 못했습니다: 계획을 읽거나 쓸 수 없습니다. 다음 작업을 완료할 때 다시 시도합니다";
        Odd { text: _ } => "저널이나 잠금 파일에 이상한 점이 있습니다";
    }

    origin: Origin => text {
        Journal => "저널에서 마지막으로 기록된 그대로 복원했습니다";
        Version { sequence } => "전이 {sequence}번 직후로 복원했습니다. 그 뒤의 내용은 다시 만들 수 없습니다";
        Copy { path } => "{path}에서 복원했습니다";
        Rebuilt => "다른 파일로 다시 만들었습니다";
        Anew => "복원할 것이 없어 새로 시작합니다";
    }

    passage: Passage => text {
        Passage { sequence, trigger, to } => "#{sequence} {trigger} → {0}" [Status::from_word(to).say(Ko)];
    }

    cause: Cause => text {
        System { kind, number, .. } => "{0}" [translate_system_error(*kind, *number)];
        Other { text } => "{text}";
    }

    status: Status => text {
        Draft => "초안";
        Pending => "대기 중";
        Ready => "실행 대기";
        InProgress => "진행 중";
        Review => "리뷰 대기";
        Completed => "완료";
        Failed => "실패";
        Paused => "일시 중지";
        Cancelled => "취소됨";
        Blocked => "차단됨";
        Idle => "없음";
        Success => "성공";
        Failure => "실패";
        Partial => "일부";
        Passed => "통과";
        Escalated => "에스컬레이션";
        Other { word } => "{word}";
    }

    thing: Thing => text {
        Feature => "기능";
        Reason => "이유";
        CheckpointId => "체크포인트 이름";
        Message => "내용";
        Code => "오류 코드";
        Metric => "지표";
        CoreValue => "핵심 가치";
        Step => "단계";
        Steps => "단계";
        Task => "작업";
        TaskId => "작업 id";
        TaskName => "작업 이름";
        StepName => "단계 이름";
        ArtifactPath => "산출물 경로";
        WaitingTasks => "대기열의 작업";
        Worktree => "작업 트리";
    }
}
