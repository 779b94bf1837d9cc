//! Mermaid diagrams and the edges read from them.

use bowline_formats::tasks_md::{EDGES_MAX, PlanFindingCode, parse_plan};

use super::check;

#[test]
fn diagrams() {
    let tasks = "- [ ] T1.1: a\n- [ ] T1.2: b\n- [ ] T1.3: c\n- [ ] T1.4: d\n- [ ] P1-R1-T1: e\n";
    for (chart, expected) in [
        ("graph TD\nT1.1 --> T1.2", "T1.1>T1.2"),
        (
            "flowchart LR; T1.1-->T1.2;T1.2-->T1.3",
            "T1.1>T1.2 T1.2>T1.3",
        ),
        (
            "graph TD\nT1.1[a; b] --> T1.2(\"c --> ]\") --> T1.3{{d}}",
            "T1.1>T1.2 T1.2>T1.3",
        ),
        (
            "graph TD\nT1.1 & T1.2 --> T1.3 & T1.4",
            "T1.1>T1.3 T1.1>T1.4 T1.2>T1.3 T1.2>T1.4",
        ),
        ("graph TD\nT1.1 -->|yes, T1.4| T1.2", "T1.1>T1.2"),
        ("graph TD\nT1.1 -- so > be it --> T1.2", "T1.1>T1.2"),
        ("graph TD\nT1.1 ==> T1.2 -.-> T1.3", "T1.1>T1.2 T1.2>T1.3"),
        (
            "graph TD\nT1.1 == x ==> T1.2 -. y .-> T1.3",
            "T1.1>T1.2 T1.2>T1.3",
        ),
        (
            "graph TD\nT1.1 ----> T1.2 -> T1.3 --x T1.4",
            "T1.1>T1.2 T1.2>T1.3 T1.3>T1.4",
        ),
        ("graph TD\nT1.1---T1.2\nT1.2 <--> T1.3\nT1.3 ~~~ T1.4", ""),
        ("graph TD\nP1-R1-T1-->T1.1", "P1-R1-T1>T1.1"),
        (
            "graph TD\nT1.1:::hot --> T1.2:::cold\nclassDef hot fill:#f00",
            "T1.1>T1.2",
        ),
        (
            "graph TD\nsubgraph one\n  T1.1 --> T1.2\nend\nstyle T1.1 fill:#fff",
            "T1.1>T1.2",
        ),
        (
            "graph TD\n%% T1.1 --> T1.2\nT1.3 --> T1.4 %% T1.9",
            "T1.3>T1.4",
        ),
        (
            "graph TD\nA[\"T1.1: 첫째\"] --> B\nB(T1.2) --> start --> T1.3",
            "T1.1>T1.2",
        ),
        (
            "---\ntitle: T1.1 --> T1.2\n---\ngraph TD\nT1.3 --> T1.4",
            "T1.3>T1.4",
        ),
        ("T1.1 --> T1.2", "T1.1>T1.2"),
        ("sequenceDiagram\nT1.1->>T1.2: hello", ""),
        ("gantt\nT1.1 :a, after T1.2", ""),
        (
            "graph TD\nT1.1@{ shape: rect, label: \"x\" } --> T1.2>flag]",
            "T1.1>T1.2",
        ),
    ] {
        let file = parse_plan(&format!("{tasks}\n```mermaid\n{chart}\n```\n"));
        let edges: Vec<String> = file
            .edges
            .iter()
            .map(|edge| format!("{}>{}", edge.before, edge.after))
            .collect();
        assert_eq!(edges.join(" "), expected, "of {chart:?}");
        let unread: Vec<_> = file.findings.iter().map(ToString::to_string).collect();
        assert!(unread.is_empty(), "of {chart:?}: {unread:?}");
    }
}

#[test]
fn doubtful_diagrams() {
    check(
        "\
- [ ] T1.1: a
- [ ] T1.2: b
```mermaid
graph TD
T1.0 --> T1.1
T1.1 --> T1.9
T1.8 --> done
T1.1 --> T1.2 -->
T1.1[open --> T1.2
```
",
        "
1 [ ] 1/T1.1 a
2 [ ] 1/T1.2 b
8 edge T1.1>T1.2
5 Error MISSING_DEP T1.1,T1.0
6 Warning MISSING_NODE T1.9
7 Warning MISSING_NODE T1.8
8 Warning UNREAD_MERMAID
9 Warning UNREAD_MERMAID
",
    );
}

#[test]
fn edges_are_read_up_to_a_limit() {
    let tasks =
        |names: usize| -> String { (0..names).map(|n| format!("- [ ] T1.{n}: a\n")).collect() };
    let group = |names: usize| -> String {
        (0..names)
            .map(|n| format!("T1.{n}"))
            .collect::<Vec<_>>()
            .join(" & ")
    };
    let chart = |names: usize| {
        format!(
            "{}```mermaid\n{} --> {}\n```\n",
            tasks(names),
            group(names),
            group(names)
        )
    };

    let full = parse_plan(&chart(1000));
    assert_eq!(full.edges.len(), EDGES_MAX);
    assert!(
        full.findings
            .iter()
            .all(|finding| finding.code == PlanFindingCode::CircularDep)
    );

    let over = parse_plan(&chart(1001));
    assert_eq!(over.edges, []);
    assert_eq!(
        over.blocking_finding().map(|finding| finding.code),
        Some(PlanFindingCode::TooManyEdges)
    );
}
