package import LiveActivity

extension SupersededNote {
    /// The time for which notes name a cancelled send. After it, its jobs are gone from the topics.
    package static let cancelledMilliseconds: Int64 = 86_400_000

    /// Makes the note for senders about a group. Returns nil if there is no group, or no content for a note.
    package init?(_ row: GroupRow, of key: GroupKey, at stamp: Int64) {
        guard let group = key.group else { return nil }
        let isWhole = key.recipient == nil
        let cancelled = row.cancelled.filter { stamp - $0.at < Self.cancelledMilliseconds }.map(\.send)
        self.init(
            app: key.app, group: group, owner: key.recipient, update: isWhole ? row.updatedAt : 0,
            end: isWhole ? row.endedAt : 0, cancelled: cancelled)
        if update == 0, end == 0, cancelled.isEmpty { return nil }
    }
}
