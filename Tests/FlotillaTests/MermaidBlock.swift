import Foundation

/// One Mermaid diagram of a page, and a strict check of its lines.
///
/// GitHub shows an error in place of a diagram that Mermaid cannot read. The check knows only the forms that
/// our pages use, and it is stricter than Mermaid: each text stands in quotes, and each node has a text.
struct MermaidBlock {
    let page: String
    /// The number of the first line behind the opening fence, from 1.
    let firstLine: Int
    private(set) var lines: [String]

    /// Returns the diagrams of a page.
    static func all(in text: String, of page: String) -> [MermaidBlock] {
        var blocks: [MermaidBlock] = []
        var open: MermaidBlock?
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```mermaid") {
                open = MermaidBlock(page: page, firstLine: index + 2, lines: [])
            } else if line == "```", let block = open {
                blocks.append(block)
                open = nil
            } else {
                open?.lines.append(line)
            }
        }
        // No form matches the rest of a page, so a diagram without a closing fence has problems.
        return blocks + [open].compactMap(\.self)
    }

    /// The problems of the diagram, each with its page and line.
    var problems: [String] {
        var check = MermaidCheck()
        var found: [String] = []
        for (index, line) in lines.enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            found += check.problems(of: line).map { "\(page):\(firstLine + index): \($0) in `\(line)`" }
        }
        return found + check.problemsAtTheEnd.map { "\(page):\(firstLine): \($0)" }
    }
}

/// A check of the lines of one diagram, in order. It remembers the kind of the diagram, its open subgraphs and its nodes.
private struct MermaidCheck {
    private enum Kind { case flowchart, states }

    private var kind: Kind?
    private var openSubgraphs = 0
    /// The nodes and subgraphs of a flowchart that have a text.
    private var declared: Set<Substring> = []
    /// The nodes of a flowchart that are in a chain of edges.
    private var used: Set<Substring> = []

    /// Returns the problems of the next line.
    mutating func problems(of line: String) -> [String] {
        if line.isEmpty || line.hasPrefix("%%") { return [] }
        switch kind {
        case nil: return problems(ofFirstLine: line)
        case .flowchart: return problems(ofFlowchartLine: line)
        case .states: return problems(ofStatesLine: line)
        }
    }

    /// The problems that only the end of the diagram shows.
    var problemsAtTheEnd: [String] {
        var problems: [String] = []
        if kind == nil { problems.append("the diagram is empty") }
        if openSubgraphs > 0 { problems.append("a subgraph has no end") }
        return problems + used.subtracting(declared).sorted().map { "the node \($0) has no text" }
    }

    private mutating func problems(ofFirstLine line: String) -> [String] {
        switch line {
        case "flowchart LR", "flowchart TB": kind = .flowchart
        case "stateDiagram-v2": kind = .states
        default:
            kind = .flowchart
            return ["a diagram begins with flowchart LR, flowchart TB or stateDiagram-v2"]
        }
        return []
    }

    // MARK: Flowcharts

    private mutating func problems(ofFlowchartLine line: String) -> [String] {
        if line == "direction LR" || line == "direction TB" { return [] }
        if line == "end" {
            openSubgraphs -= 1
            return openSubgraphs < 0 ? ["no subgraph is open"] : []
        }
        if let match = line.wholeMatch(of: #/subgraph ([A-Za-z][A-Za-z0-9_]*)\["([^"]*)"\]/#) {
            openSubgraphs += 1
            declared.insert(match.1)
            return problems(ofText: match.2)
        }
        return problems(ofChain: line[...])
    }

    /// Checks nodes that are joined by edges, such as `a["text"] --> b -->|"text"| c`.
    private mutating func problems(ofChain line: Substring) -> [String] {
        // A text stands in brackets of one of five shapes.
        let node =
            #/([A-Za-z][A-Za-z0-9_]*)(\["[^"]*"\]|\("[^"]*"\)|\(\["[^"]*"\]\)|\[\("[^"]*"\)\]|\{"[^"]*"\})?/#
        let edge = #/ (?:-->|-\.->|==>|---)(?:\|"([^"]*)"\|)? /#
        var problems: [String] = []
        var rest = line
        while true {
            guard let match = rest.prefixMatch(of: node) else {
                return problems + ["a node must begin at `\(rest)`"]
            }
            // Mermaid takes the word as the end of a subgraph.
            if match.1 == "end" { problems.append("no node can have the name end") }
            used.insert(match.1)
            if let shape = match.2 {
                declared.insert(match.1)
                problems += self.problems(ofText: shape.drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" })
            }
            rest = rest[match.range.upperBound...]
            if rest.isEmpty { return problems }
            guard let match = rest.prefixMatch(of: edge) else {
                return problems + ["an edge must begin at `\(rest)`"]
            }
            if let text = match.1 { problems += self.problems(ofText: text) }
            rest = rest[match.range.upperBound...]
        }
    }

    /// Returns the problems of a text in quotes.
    private func problems(ofText text: Substring) -> [String] {
        let plain = text.replacing("<br/>", with: " ")
        var problems: [String] = []
        if plain.allSatisfy(\.isWhitespace) { problems.append("a text is empty") }
        // Mermaid reads these characters as markup or as the end of a statement.
        if plain.contains(where: { "<>;#`".contains($0) }) { problems.append("a text has one of < > ; # `") }
        if plain.prefixMatch(of: #/(?:[0-9]+\.|[-*]) /#) != nil { problems.append("a text begins as a list") }
        return problems
    }

    // MARK: State diagrams

    private func problems(ofStatesLine line: String) -> [String] {
        if line == "direction LR" || line == "direction TB" { return [] }
        if let match = line.wholeMatch(of: #/state "([^"]*)" as ([a-z][a-z0-9_]*)/#) {
            return problems(ofText: match.1) + problems(ofState: match.2)
        }
        let transition =
            #/(\[\*\]|[a-z][a-z0-9_]*) --> (\[\*\]|[a-z][a-z0-9_]*)(?: : (.+))?/#
        if let match = line.wholeMatch(of: transition) {
            return problems(ofState: match.1) + problems(ofState: match.2)
                + (match.3.map(problems(ofPlainText:)) ?? [])
        }
        if let match = line.wholeMatch(of: #/note (?:right|left) of ([a-z][a-z0-9_]*) : (.+)/#) {
            return problems(ofState: match.1) + problems(ofPlainText: match.2)
        }
        return ["the line is no state, transition or note"]
    }

    private func problems(ofState name: Substring) -> [String] {
        ["end", "note", "state", "direction"].contains(name) ? ["no state can have the name \(name)"] : []
    }

    /// Returns the problems of a text without quotes.
    private func problems(ofPlainText text: Substring) -> [String] {
        let isSafe = text.allSatisfy { $0.isLetter || $0.isNumber || " ,.'/-–".contains($0) }
        if !isSafe { return ["a text without quotes has another character than , . ' / -"] }
        return problems(ofText: text)
    }
}
