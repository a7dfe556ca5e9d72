/// A mismatch between a value and its schema: an error of decoding, or a warning about a probable mistake.
package struct SchemaFinding: Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        // Errors: Swift throws, and the phone silently drops the whole value.
        case missing
        case null
        case wrongType = "wrong_type"
        case notWhole = "not_whole"
        case outOfRange = "out_of_range"
        case unknownCase = "unknown_case"
        case malformed
        case wrongOrder = "wrong_order"
        // Warnings: Swift accepts the value, but probably reads it differently than its author meant.
        case wrongUnit = "wrong_unit"
        case misspelt
        case notPortable = "not_portable"

        /// Whether the code is an error.
        package var fails: Bool {
            switch self {
            case .wrongUnit, .misspelt, .notPortable: false
            default: true
            }
        }
    }

    /// The path of the mismatch in the value, for example `teams[0].name`. Empty for the value itself.
    package let path: String
    package let code: Code
    /// The text that follows the path. It includes the remedy.
    package let message: String

    /// Whether the finding is an error: decoding fails.
    package var fails: Bool { code.fails }

    package var description: String { "\(path.isEmpty ? "the value" : path) \(message)" }
}

/// The findings of one check, up to a limit.
package struct SchemaFindings: Sendable, Hashable {
    /// The maximum number of failures and, separately, of warnings: many warnings must not hide a failure.
    package static let findingsMax = 32

    /// Errors: findings that make decoding fail.
    package private(set) var failures: [SchemaFinding] = []
    /// Findings that let the value decode, probably to an unintended result.
    package private(set) var warnings: [SchemaFinding] = []
    /// The number of findings beyond `findingsMax`.
    package private(set) var omittedCount = 0

    /// Whether Swift decodes the value.
    package var decodes: Bool { failures.isEmpty }

    mutating func add(_ finding: SchemaFinding) {
        if finding.fails, failures.count < SchemaFindings.findingsMax {
            failures.append(finding)
        } else if !finding.fails, warnings.count < SchemaFindings.findingsMax {
            warnings.append(finding)
        } else {
            omittedCount += 1
        }
    }
}
