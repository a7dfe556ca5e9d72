internal import Identifiers
internal import RecordFormat

/// The members of a segment: a predicate over tags, attributes and fields that the phone reports. It is
/// evaluated whenever a send expands. A value that is unknown, or of another type than the test's value,
/// fails the test.
package indirect enum SegmentRule: Sendable, Hashable {
    /// True if all rules are true. An empty list is true.
    case and([SegmentRule])
    /// True if at least one rule is true. An empty list is false.
    case or([SegmentRule])
    case not(SegmentRule)
    case tag(String)
    case test(Subject, Test)

    package enum Subject: Sendable, Hashable {
        case attribute(String)
        case field(Field)
    }

    /// A field that a phone reports. Versions compare number by number, the other fields byte by byte.
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

    /// The maximum nesting depth of `and`, `or` and `not`.
    package static let depthMax = 8
    /// The maximum number of predicates in one rule, including nested ones.
    package static let nodesMax = 256
    /// The maximum number of values in one `in`.
    package static let valuesMax = 256
    /// The maximum size of a text or a name in bytes.
    package static let textBytesMax = NameRules.bytesMax
}

/// A segment in the catalog.
package struct Segment: JSONRecord, Hashable {
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
