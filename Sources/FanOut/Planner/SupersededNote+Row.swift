package import LiveActivity

extension SupersededNote {
    /// How long a send that was taken back is named: what is left of it is gone from the topics then.
    package static let cancelledMilliseconds: Int64 = 86_400_000

    /// What senders must know of a group; nil where there is nothing, or no group.
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
