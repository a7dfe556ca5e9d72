internal import LiveActivity

/// Which letters a call is about: all that match everything it says.
package struct LetterFilter: Sendable, Hashable {
    package static let namesMax = 1_000

    package var app: String?
    package var stage: String?
    /// The stable code of a reason.
    package var code: String?
    /// Milliseconds since 1970: when a stage gave up.
    package var since: Int64?
    package var until: Int64?
    /// Letters by name; empty: all.
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

    /// Whether a partition can have any.
    func concerns(_ partition: Int32) -> Bool {
        names.isEmpty || names.contains { $0.partition == partition }
    }

    /// Where reading a partition may begin: a stage's clock can be behind the cluster's, and what was marked
    /// is marked later than it was written.
    var start: TopicScanner.Start {
        since.map { .time($0 - Self.clocksApartMilliseconds) } ?? .beginning
    }

    private static let clocksApartMilliseconds: Int64 = 3_600_000
}
