internal import Identifiers
internal import RecordFormat

/// The rule of a segment: a predicate over the tags, attributes and reported fields of a profile. Every
/// expansion of a send evaluates it. A value that is unknown, or that has another type than the test's value,
/// fails the test.
package indirect enum SegmentRule: Sendable, Hashable {
    /// True if all rules are true. An empty list is true.
    case and([SegmentRule])
    /// True if at least one rule is true. An empty list is false.
    case or([SegmentRule])
    /// True if the rule is false.
    case not(SegmentRule)
    /// True if the profile has the tag.
    case tag(String)
    /// True if the value of the subject passes the test.
    case test(Subject, Test)

    /// The value that a test examines.
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

    /// The condition on the value of a subject.
    package enum Test: Sendable, Hashable {
        /// Whether the value is present (`true`) or missing (`false`).
        case exists(Bool)
        /// Whether the value equals one of these values.
        case isIn([Value])
        /// Whether the value is above or below this value.
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
    package static let predicatesMax = 256
    /// The maximum number of values in one `in`.
    package static let valuesMax = 256
    /// The maximum size of a text or a name in bytes.
    package static let textBytesMax = NameRules.bytesMax
}

/// A named rule in the catalog of an app. The recipients whose profiles fulfill the rule are its members.
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

    /// The key of the record, for example `segment/shop/vip`.
    package var key: [UInt8] { RecordKey.join("segment", app, name) }
}
