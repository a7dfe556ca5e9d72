internal import LiveActivity

/// The filter of a call. A dead letter must match all conditions.
package struct LetterFilter: Sendable, Hashable {
    package static let namesMax = 1_000

    package var app: String?
    package var stage: String?
    /// The stable code of the reason.
    package var code: String?
    /// The earliest time of the dead letter, in milliseconds since 1970.
    package var since: Int64?
    /// The time before which the dead letter was written, in milliseconds since 1970.
    package var until: Int64?
    /// The names of the dead letters. Empty means all.
    package var names: Set<LetterName> = []

    package init() {}

    package var isAll: Bool { self == LetterFilter() }

    package func takes(_ letter: Letter) -> Bool {
        if !names.isEmpty, !names.contains(letter.name) { return false }
        if let app, letter.app != app { return false }
        if let stage, letter.why.stage != stage { return false }
        if let code, letter.why.code != code { return false }
        if let since, letter.why.at < since { return false }
        if let until, letter.why.at >= until { return false }
        return true
    }

    /// Whether a partition can have a match.
    func concerns(_ partition: Int32) -> Bool {
        names.isEmpty || names.contains { $0.partition == partition }
    }

    /// The start of a scan. It is earlier than `since`, because a stage's clock can be behind the cluster's
    /// clock. Marks are always later than their dead letters.
    var start: TopicScanner.Start {
        since.map { .time($0 - Self.clocksApartMilliseconds) } ?? .beginning
    }

    private static let clocksApartMilliseconds: Int64 = 3_600_000
}
