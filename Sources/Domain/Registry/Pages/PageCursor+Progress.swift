/// The comparison of a row with the position of a walk, for rows that change while a walk is on its way.
extension PageCursor {
    /// Whether a walk through a group's activities will still come to this row of the group.
    package func willVisit(_ row: borrowing TokenPageRow) -> Bool {
        guard let suffix = Self.suffix(of: row) else { return false }
        return willVisit(suffix)
    }

    /// Whether a walk through a table will still come to this key.
    package func willVisit(_ key: [UInt8]) -> Bool {
        guard case .table(let origin, let next, let isWrapped) = position else { return false }
        let isAhead = !key.lexicographicallyPrecedes(next)
        let isBeforeOrigin = key.lexicographicallyPrecedes(origin)
        // A walk that has not wrapped still visits the rest of the table, and then everything before its origin.
        return isWrapped ? isAhead && isBeforeOrigin : isAhead || isBeforeOrigin
    }

    /// Returns the part of the row's key in `updates` behind app and group. Returns nil if the row is not of
    /// an activity.
    private static func suffix(of row: borrowing TokenPageRow) -> [UInt8]? {
        // `u:<user>` or `i:<installation>`, and `update:<activity>`.
        let (recipient, entry) = (row.recipient, row.entryText)
        let updatePrefix = PageFiller.updatePrefix
        guard recipient.count > 2, entry.hasPrefix(updatePrefix.span) else { return nil }
        var suffix: [UInt8] = []
        let isUser = recipient[0] == UInt8(ascii: "u")
        let name = recipient.extracting(2..<recipient.count)
        let activity = entry.extracting(updatePrefix.count..<entry.count)
        guard
            TableKey.appendHolder(
                isUser: isUser, recipient: name, installation: row.installation, to: &suffix),
            NameCode.append(activity, to: &suffix)
        else { return nil }
        return suffix
    }
}
