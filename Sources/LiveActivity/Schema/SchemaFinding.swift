/// One place where a value and its schema do not agree.
package struct SchemaFinding: Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        // Swift throws, and the phone drops the whole value in silence.
        case missing
        case null
        case wrongType = "wrong_type"
        case notWhole = "not_whole"
        case outOfRange = "out_of_range"
        case unknownCase = "unknown_case"
        case malformed
        case wrongOrder = "wrong_order"
        // Swift takes it, and the phone shows nonsense.
        case wrongUnit = "wrong_unit"
        case misspelt
        case notPortable = "not_portable"

        package var fails: Bool {
            switch self {
            case .wrongUnit, .misspelt, .notPortable: false
            default: true
            }
        }
    }

    /// From the value's root, as `JSONProblem.path`; empty for the value itself.
    package let path: String
    package let code: Code
    /// Goes on after the path, and says what to do.
    package let message: String

    /// Whether decoding fails; else it succeeds, and the result is surely not what was meant.
    package var fails: Bool { code.fails }

    package var description: String { "\(path.isEmpty ? "the value" : path) \(message)" }
}

/// Everything that was found, as far as it is listed.
package struct SchemaFindings: Sendable, Hashable {
    /// Of each kind: many doubts must not hide a failure.
    package static let listedMax = 32

    /// What makes decoding fail.
    package private(set) var failures: [SchemaFinding] = []
    /// What decodes to something else than was meant.
    package private(set) var doubts: [SchemaFinding] = []
    /// Findings beyond `listedMax`.
    package private(set) var unlisted = 0

    /// Whether Swift decodes the value.
    package var decodes: Bool { failures.isEmpty }

    mutating func add(_ finding: SchemaFinding) {
        if finding.fails, failures.count < SchemaFindings.listedMax {
            failures.append(finding)
        } else if !finding.fails, doubts.count < SchemaFindings.listedMax {
            doubts.append(finding)
        } else {
            unlisted += 1
        }
    }
}
