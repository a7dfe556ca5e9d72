package import Identifiers
package import InstallationRecords
internal import JSON

/// The recently erased users, as one partition of `installations` knows them.
///
/// The installations of a user are spread over all partitions by their own ids, and no partition knows where all of
/// them are. So each partition of `reports` gets a copy of the erasure, and stores it as a row of `installations`. The
/// row stays as long as an older report can still arrive. The transaction that stores the row also erases the user from
/// all known installations of the partition. A report from before the erasure can arrive later and bring a login back.
/// The sweep erases such an installation: the row sorts before the installations of its app, so the sweep reads it
/// first.
package struct ErasedUsers: Sendable {
    /// The most users of one partition. Beyond it, erasures are not remembered, and an operator has to repeat them
    /// after some days, when older ones have expired.
    static let usersMax = 100_000

    /// The times up to which reports are erased, by app and user.
    private var erasureTimes: [String: [Recipient: ReportTime]] = [:]
    /// The users as they are written in records of installations, by app.
    private var writtenUsers: [String: [BytePattern]] = [:]
    private(set) var count = 0

    /// The most users of one app for which `mayConcern` searches a record. Beyond it every record is decoded.
    private static let searchedUsersMax = 8

    package init() {}

    /// Returns the key of a user's row, such as `app/e:user`. It sorts before the keys of installations, such as
    /// `app/i:phone`.
    package static func key(app: String, user: String) -> [UInt8] { RecordKey.join(app, "e:" + user) }

    /// Adds an erasure. Returns false if the limit is reached, even for a user that is already present.
    package mutating func add(_ user: Recipient, of app: String, upTo time: ReportTime) -> Bool {
        guard count < Self.usersMax else { return false }
        if erasureTimes[app, default: [:]].updateValue(time, forKey: user) == nil {
            count += 1
            // One more user than are searched is kept, so that `mayConcern` sees that there are too many.
            if writtenUsers[app, default: []].count <= Self.searchedUsersMax {
                writtenUsers[app, default: []].append(BytePattern(user.jsonBytes))
            }
        }
        return true
    }

    var apps: [String] { Array(erasureTimes.keys) }

    /// Whether the record of an installation can name an erased user. A search costs a small part of a decoding, and
    /// nearly all installations belong to other users.
    func mayConcern(_ record: Span<UInt8>, of app: String) -> Bool {
        guard let users = writtenUsers[app] else { return false }
        if users.count > Self.searchedUsersMax { return true }
        return users.contains { $0.occurs(in: record) }
    }

    /// Returns the installation after the erasure, or nil if the erasure does not change it.
    func erasing(from installation: Installation) -> Installation? {
        erasureTimes[installation.app].flatMap { installation.erasing(users: $0) }
    }
}

extension Recipient {
    /// The recipient as a JSON text, with its quotes.
    fileprivate var jsonBytes: [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.value(text)
        return writer.bytes
    }
}
