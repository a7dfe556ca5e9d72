import Foundation
import ProcessTesting
import Testing

/// Tests that the diagrams of all pages can be drawn.
struct MermaidTests {
    /// The diagrams of the README, the operator's book, and the pages beside the code and the tests.
    private func blocks() throws -> [MermaidBlock] {
        var pages = ["README.md"]
        for folder in ["Sources", "Tests", "deploy"] {
            let names = try FileManager.default.subpathsOfDirectory(atPath: Repository.path(of: folder))
            pages += names.filter { $0.hasSuffix(".md") }.sorted().map { folder + "/" + $0 }
        }
        return try pages.flatMap { try MermaidBlock.all(in: Repository.text(of: $0), of: $0) }
    }

    @Test func `every diagram of the pages has only lines that Mermaid can draw`() throws {
        let blocks = try blocks()
        #expect(Set(blocks.map(\.page)).isSuperset(of: ["README.md", "Sources/README.md"]))
        for problem in blocks.flatMap(\.problems) { Issue.record("\(problem)") }
    }

    /// Returns the problems of a page with one diagram, which begins in line 3.
    private func problems(_ lines: String...) -> [String] {
        let page = (["Text.", "```mermaid"] + lines + ["```", "More text."]).joined(separator: "\n")
        return MermaidBlock.all(in: page, of: "page.md").flatMap(\.problems)
    }

    @Test func `the check accepts the forms that the pages use`() {
        let flow = problems(
            "flowchart LR", "  %% a comment", "  subgraph phones[\"phones (iOS 17.2)\"]", "    direction TB",
            "    app[\"the app<br/>with an SDK\"]", "  end",
            "  app -->|\"tokens, states\"| gateway([\"gateway\"]) -.-> topic[(\"reports\")]",
            "  phones ==> gateway", "  is{\"known?\"} --- gateway")
        #expect(flow == [])
        let states = problems(
            "stateDiagram-v2", "  direction LR", "  state \"not running\" as idle", "  [*] --> idle",
            "  idle --> runs : a start, by push", "  runs --> [*]", "  note right of runs : at most 8 hours")
        #expect(states == [])
    }

    @Test(arguments: [
        "a[no quotes (at all)] --> b", "a[\"one quote] --> b", "a[\"text\") --> b", "a -> b", "a --> ",
        "a -->|no quotes| b", "a & b --> c", "a[\"x\"] --> end", "a[\"x\"]; b[\"y\"]", "a[\"`x`\"]",
        "a[\"1. x\"]", "a[\"<b>x</b>\"]", "a[\"\"]", "class a b", "end", "subgraph open[\"x\"]",
        "subgraph x y", "nowhere --> nowhere", "direction RL",
    ])
    func `the check refuses a wrong line of a flowchart`(line: String) {
        #expect(problems("flowchart TB", "n[\"n\"]", line) != [], "\(line)")
    }

    @Test(arguments: [
        "idle -> runs", "idle --> runs: text", "idle --> runs : f(x)", "idle --> runs : a: b", "idle --> end",
        "state idle as \"x\"", "note over idle : x", "Idle --> runs",
    ])
    func `the check refuses a wrong line of a state diagram`(line: String) {
        #expect(problems("stateDiagram-v2", line) != [], "\(line)")
    }

    @Test func `the check refuses another kind of diagram, an empty one and one without an end`() {
        #expect(problems("flowchart RL", "a[\"x\"]").count == 1)
        #expect(problems("sequenceDiagram").count == 1)
        #expect(problems() == ["page.md:3: the diagram is empty"])
        let open = MermaidBlock.all(in: "```mermaid\nflowchart LR\na[\"x\"]\nThe next text.", of: "page.md")
        #expect(open.flatMap(\.problems).count == 2)
        #expect(open.flatMap(\.problems)[0].hasPrefix("page.md:4: "))
    }
}
