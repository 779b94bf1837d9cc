//! 도구를 부른 쪽에 하는 말: 내용 / 힌트.

use crate::particle::*;

table! {
    tool_no: ToolNo => with_hint {
        ReadOnly { tool } => "'{tool}'{은} 내용을 바꾸는 도구인데 이 연결은 읽기 전용입니다" / "바꾸는 도구가 필요하면 'bowline mcp'를 --role agent로 시작하세요";
        Lacks { tool, name, shape } => "'{tool}'에 '{name}'{이} 필요합니다" / "다음과 같이 부르세요: {shape}";
        NotOf { name, wanted, shape } => "'{name}'의 값이 맞지 않습니다({wanted})" / "다음과 같이 부르세요: {shape}";
        TakesNo { tool, name, shape } => "'{tool}'{은} '{name}'{을} 받지 않습니다" / "다음과 같이 부르세요: {shape}";
        NoTool { name, known } => "'{name}' 도구가 없습니다" / "{known} 중 하나를 쓰세요";
        NoNoun { noun, known } => "'{noun}' 명사가 없습니다" / "{known} 중 하나를 쓰세요";
        NoResource { uri } => "'{uri}' 리소스가 없습니다" / "리소스 목록을 먼저 요청하세요";
        TooBig { path, bytes, max } => "{path}: {bytes}바이트입니다. 한 번에 {max}바이트까지 보여 줄 수 있습니다" / "파일을 직접 읽으세요";
        NoFiles { tool } => "'{tool}'{은} 파일을 다루는 도구인데 이 연결에는 파일이 없습니다" / "작업하는 폴더에서 'bowline mcp'의 도구를 쓰세요";
        Outside { path } => "'{path}'{은} 제공하는 폴더 밖에 있습니다" / "그 안의 폴더를 지정하거나 그 폴더에서 'bowline mcp'를 시작하세요";
    }
}
