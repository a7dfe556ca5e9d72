/// Who belongs to a segment: a predicate over tags, attributes and what the phone says of itself, asked
/// anew whenever a send expands. What is not known, or is of another kind than the test's value, does
/// not pass the test.
package indirect enum SegmentRule: Sendable, Hashable {
    /// All of them; of none, true.
    case and([SegmentRule])
    /// At least one of them; of none, false.
    case or([SegmentRule])
    case not(SegmentRule)
    case tag(String)
    case test(Subject, Test)

    package enum Subject: Sendable, Hashable {
        case attribute(String)
        case field(Field)
    }

    /// What a phone tells of itself. Versions compare number by number, the others byte by byte.
    package enum Field: String, Sendable, CaseIterable {
        case os
        case appBuild
        case locale
        case timeZone

        package var isVersion: Bool { self == .os || self == .appBuild }
    }

    package enum Test: Sendable, Hashable {
        case exists(Bool)
        case isIn([Value])
        case compares(Comparison, Value)
    }

    package enum Comparison: String, Sendable, CaseIterable {
        case above
        case atLeast
        case below
        case atMost
    }

    package enum Value: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case number(Double)
        case boolean(Bool)
    }

    /// `and`, `or` and `not` inside one another.
    package static let depthMax = 8
    /// Predicates in one rule, the inner ones included.
    package static let nodesMax = 256
    /// Values of one `in`.
    package static let valuesMax = 256
    /// Bytes of a text or a name.
    package static let textBytesMax = Name.bytesMax
}

/// A segment as the catalogue keeps it.
package struct Segment: Record, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var name: String
    package var rule: SegmentRule

    package init(app: String, name: String, rule: SegmentRule) {
        self.app = app
        self.name = name
        self.rule = rule
    }

    package var key: [UInt8] { RecordKey.join("segment", app, name) }
}
