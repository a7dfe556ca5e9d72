internal import LiveActivity

/// Counts of dead letters by reason.
package struct LetterSummary: Sendable {
    /// The largest number of rows. Dead letters beyond it are counted in `others`.
    package static let rowsMax = 1_000

    package struct Kind: Hashable, Sendable {
        package let stage: String
        package let code: String
        package let app: String?
        package let state: LetterJournal.State
    }

    package struct Row: Sendable {
        package var letters = 0
        package var jobs = 0
        /// Milliseconds since 1970.
        package var first = Int64.max
        package var last = Int64.min
    }

    package private(set) var rows: [Kind: Row] = [:]
    package private(set) var others = 0

    package init() {}

    package mutating func add(_ letter: Letter, _ state: LetterJournal.State) {
        let kind = Kind(
            stage: letter.why.stage, code: letter.why.code, app: letter.app, state: state)
        guard rows[kind] != nil || rows.count < Self.rowsMax else {
            others += 1
            return
        }
        rows[kind, default: Row()].letters += 1
        rows[kind, default: Row()].jobs += letter.jobs
        rows[kind, default: Row()].first = min(rows[kind]?.first ?? .max, letter.why.at)
        rows[kind, default: Row()].last = max(rows[kind]?.last ?? .min, letter.why.at)
    }
}
