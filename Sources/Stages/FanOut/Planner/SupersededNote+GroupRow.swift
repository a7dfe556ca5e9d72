package import Sends

extension SupersededVersions {
    /// The time for which notes name a cancelled send. After it, its jobs are gone from the topics.
    package static let cancelledMilliseconds: Int64 = 86_400_000

    /// Makes the note for senders about a group. Returns nil if there is no group, or no content for a note.
    package init?(_ row: GroupRow, of key: ScopeKey, at stamp: Int64) {
        guard let group = key.group else { return nil }
        let isWhole = key.recipient == nil
        let cancelled = row.cancelledSends.filter { stamp - $0.at < Self.cancelledMilliseconds }.map(\.send)
        self.init(
            app: key.app, group: group, owner: key.recipient, updateVersion: isWhole ? row.updateVersion : 0,
            endVersion: isWhole ? row.endVersion : 0, cancelledSends: cancelled)
        if updateVersion == 0, endVersion == 0, cancelled.isEmpty { return nil }
    }
}
