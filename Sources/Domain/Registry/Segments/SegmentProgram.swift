package import LiveActivity

/// A rule in a form that tests millions of people. Its predicates are in one list, outer before inner. Each
/// contains the index behind its last inner predicate. All texts are in one buffer. A test allocates nothing.
package struct SegmentProgram: Sendable {
    enum Operation: Sendable {
        case and, or, not, tag, exists, isIn
        case compares(SegmentRule.Comparison)
        /// A value of the preceding test.
        case text, integer, number, boolean
    }

    struct Node: Sendable {
        let operation: Operation
        /// The index behind the last node inside this one.
        var end = 0
        /// The tested field, or nil for an attribute.
        var field: SegmentRule.Field?
        /// A name or text within the constants.
        var text = 0..<0
        /// A value that is not a text.
        var bits: Int64 = 0
    }

    private(set) var nodes: [Node] = []
    private(set) var constants: [UInt8] = []

    package init(_ rule: SegmentRule) { append(rule) }

    /// Selects every person with at least one of the tags.
    package static func anyTag(of tags: [String]) -> SegmentProgram {
        SegmentProgram(.or(tags.map(SegmentRule.tag)))
    }

    private mutating func append(_ rule: SegmentRule) {
        let index = nodes.count
        switch rule {
        case .and(let rules):
            nodes.append(Node(operation: .and))
            for rule in rules { append(rule) }
        case .or(let rules):
            nodes.append(Node(operation: .or))
            for rule in rules { append(rule) }
        case .not(let rule):
            nodes.append(Node(operation: .not))
            append(rule)
        case .tag(let tag): nodes.append(Node(operation: .tag, text: constant(tag)))
        case .test(let subject, let test): append(subject, test: test)
        }
        nodes[index].end = nodes.count
    }

    private mutating func append(_ subject: SegmentRule.Subject, test: SegmentRule.Test) {
        var field: SegmentRule.Field?
        var name = 0..<0
        switch subject {
        case .attribute(let text): name = constant(text)
        case .field(let known): field = known
        }
        func node(_ operation: Operation, bits: Int64 = 0) -> Node {
            Node(operation: operation, field: field, text: name, bits: bits)
        }
        switch test {
        case .exists(let exists): nodes.append(node(.exists, bits: exists ? 1 : 0))
        case .isIn(let values):
            nodes.append(node(.isIn))
            for value in values { append(value) }
        case .compares(let comparison, let bound):
            nodes.append(node(.compares(comparison)))
            append(bound)
        }
    }

    private mutating func append(_ value: SegmentRule.Value) {
        var node: Node
        switch value {
        case .text(let text): node = Node(operation: .text, text: constant(text))
        case .integer(let number): node = Node(operation: .integer, bits: number)
        case .number(let number):
            node = Node(operation: .number, bits: Int64(bitPattern: number.bitPattern))
        case .boolean(let boolean): node = Node(operation: .boolean, bits: boolean ? 1 : 0)
        }
        node.end = nodes.count + 1
        nodes.append(node)
    }

    private mutating func constant(_ text: String) -> Range<Int> {
        let start = constants.count
        constants.append(contentsOf: text.utf8)
        return start..<constants.count
    }
}
