package import CatalogRecords

/// A segment's rule, compiled so that testing a profile allocates nothing: fan-out tests millions of them. The
/// tree of the rule is a list of nodes in which each node is followed by its children. A node knows the index
/// behind its last descendant. All texts are in one buffer.
///
/// For example, `{"and": [{"tag": "vip"}, {"field": "os", "atLeast": "17.2"}]}` has the nodes `and` (end 4),
/// `tag` (end 2), `compares` (end 4) and `text` (end 4).
package struct SegmentProgram: Sendable {
    enum Operation: Sendable {
        case and, or, not
        /// Tests of a tag, an attribute or a field. The values that a test compares with are its children.
        case tag, exists, isIn
        case compares(SegmentRule.Comparison)
        /// Values.
        case text, integer, number, boolean
    }

    struct Node: Sendable {
        let operation: Operation
        /// The index behind the last descendant.
        var end = 0
        /// The tested field, or nil for an attribute.
        var field: SegmentRule.Field?
        /// The tag, the attribute's name or the text, as a range of `constants`.
        var text = 0..<0
        /// A value that is not a text, or for `exists` 1 if the value must exist and 0 if it must not.
        var bits: Int64 = 0
    }

    private(set) var nodes: [Node] = []
    /// The texts of all nodes.
    private(set) var constants: [UInt8] = []

    package init(_ rule: SegmentRule) { append(rule) }

    /// Returns a program that matches profiles with at least one of the tags.
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
        case .attribute(let attribute): name = constant(attribute)
        case .field(let testedField): field = testedField
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

    /// Appends a text to `constants` and returns its range.
    private mutating func constant(_ text: String) -> Range<Int> {
        let start = constants.count
        constants.append(contentsOf: text.utf8)
        return start..<constants.count
    }
}
