package import LiveActivity

/// The users that were erased lately, as one partition of `installations` knows them.
///
/// A user's installations lie in every partition, by their own ids, and none knows where all of them are.
/// So the wish to erase is copied into every partition of `reports`, and what it comes to is a row there,
/// kept as long as an older word could come; whoever sweeps the partition meets these rows before all
/// installations, and carries them out on those that it meets.
package struct Erasures: Sendable {
    /// More than that in one partition within days wait until others have been forgotten.
    static let usersMax = 100_000

    private var times: [String: [Recipient: ReportTime]] = [:]
    private(set) var count = 0

    package init() {}

    /// The key of a user's row: before those of all installations of the app.
    package static func key(app: String, user: String) -> [UInt8] { RecordKey.join(app, "e:" + user) }

    /// False where there are too many.
    package mutating func add(_ user: Recipient, of app: String, upTo time: ReportTime) -> Bool {
        guard count < Self.usersMax else { return false }
        if times[app, default: [:]].updateValue(time, forKey: user) == nil { count += 1 }
        return true
    }

    /// What is left of an installation; nil where it stays as it is.
    func erase(_ installation: Installation) -> Installation? {
        times[installation.app].flatMap { installation.erased(of: $0) }
    }
}
