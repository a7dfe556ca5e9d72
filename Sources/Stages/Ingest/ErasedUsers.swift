package import Identifiers
package import InstallationRecords

/// The recently erased users, as one partition of `installations` knows them.
///
/// The installations of a user are spread over all partitions by their own ids, and no partition knows where all of
/// them are. So each partition of `reports` gets a copy of the erasure and stores it as a row. The row stays as long as
/// an older report can still arrive. A sweep of the partition reads these rows first, and then erases the users'
/// installations.
package struct ErasedUsers: Sendable {
    /// The limit in one partition. At the limit, new erasures wait until older ones expire, which takes days.
    static let usersMax = 100_000

    private var erasureTimes: [String: [Recipient: ReportTime]] = [:]
    private(set) var count = 0

    package init() {}

    /// Returns the key of a user's row, such as `app/e:user`. It sorts before the keys of all installations of the app.
    package static func key(app: String, user: String) -> [UInt8] { RecordKey.join(app, "e:" + user) }

    /// Adds an erasure. Returns false if the limit is reached.
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
