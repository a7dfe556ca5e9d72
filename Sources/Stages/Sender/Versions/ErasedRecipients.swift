internal import Identifiers
internal import Jobs
internal import Sends

/// The recipients that were erased lately. Jobs that wait for them are dropped, and so are jobs from registry rows that
/// ingest has not deleted yet. Times are milliseconds since 1970 by the cluster's stamps.
struct ErasedRecipients {
    /// Limit of remembered recipients. At the limit the recipients that were erased first are forgotten. Ingest has
    /// deleted their tokens, so only pushes that wait for hours can reach them.
    static let recipientsMax = 200_000
    /// The time after an erasure for which new jobs are dropped too. Ingest deletes the registry rows, and fan-out
    /// reads that, much faster. A user who logs in again gets no push for this time.
    static let settleMilliseconds: Int64 = 60_000
    /// The reason in the receipt of a dropped job.
    static let reason = "erased"

    private var times = BoundedTable<Fingerprint, Int64>(max: ErasedRecipients.recipientsMax)
    private var newestTime = Int64.min
    private let seed: UInt64

    init(seed: UInt64) { self.seed = seed }

    /// Adds an erasure.
    mutating func add(_ erasure: RecipientErasure, at time: Int64) {
        let key = Fingerprint(seed: seed, erasure.app, erasure.recipient.text)
        times.set(max(time, times[key] ?? time), for: key)
        newestTime = max(newestTime, time)
    }

    /// Whether lines of the sheet can be for an erased recipient. Nearly all sheets are younger than every erasure.
    func mayConcern(_ sheet: Sheet) -> Bool {
        times.count > 0 && sheet.writtenAt <= newestTime + Self.settleMilliseconds
    }

    /// Whether a line is for a recipient that was erased after the sheet was written, or shortly before.
    func isErased(_ sheet: Sheet, line: Int) -> Bool {
        guard mayConcern(sheet),
            let time = times[sheet.recipientFingerprint(of: line, inApp: sheet.head.app, seed: seed)]
        else { return false }
        return sheet.writtenAt <= time + Self.settleMilliseconds
    }
}
