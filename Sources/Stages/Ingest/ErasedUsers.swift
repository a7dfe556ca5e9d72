package import Identifiers
package import InstallationRecords

/// The recently erased users, as one partition of `installations` knows them.
///
/// The installations of a user are spread over all partitions by their own ids, and no partition knows where all of
/// them are. So each partition of `reports` gets a copy of the erasure, and stores it as a row of `installations`. The
/// row stays as long as an older report can still arrive. It sorts before the installations of its app, so a sweep of
/// the partition reads it first, and then erases the user's installations.
package struct ErasedUsers: Sendable {
    /// The most users of one partition. Beyond it, erasures are not remembered, and an operator has to repeat them
    /// after some days, when older ones have expired.
    static let usersMax = 100_000

    /// The times up to which reports are erased, by app and user.
    private var erasureTimes: [String: [Recipient: ReportTime]] = [:]
    private(set) var count = 0

    package init() {}

    /// Returns the key of a user's row, such as `app/e:user`. It sorts before the keys of installations, such as
    /// `app/i:phone`.
    package static func key(app: String, user: String) -> [UInt8] { RecordKey.join(app, "e:" + user) }

    /// Adds an erasure. Returns false if the limit is reached, even for a user that is already present.
    package mutating func add(_ user: Recipient, of app: String, upTo time: ReportTime) -> Bool {
        guard count < Self.usersMax else { return false }
        if erasureTimes[app, default: [:]].updateValue(time, forKey: user) == nil { count += 1 }
        return true
    }

    /// Returns the installation after the erasure, or nil if the erasure does not change it.
    func erasing(from installation: Installation) -> Installation? {
        erasureTimes[installation.app].flatMap { installation.erasing(users: $0) }
    }
}
