extension PageCursor {
    /// Whether a walk over a group's activities has not examined this row of the group yet.
    package func willVisit(_ row: borrowing TokenPageRow) -> Bool {
        guard let suffix = Self.suffix(of: row) else { return false }
        let isBehind = !suffix.lexicographicallyPrecedes(next)
        let isBeforeOrigin = suffix.lexicographicallyPrecedes(origin)
        return isWrapped ? isBehind && isBeforeOrigin : isBehind || isBeforeOrigin
    }

    /// Returns the part of the row's key behind app and group, or nil if the row is not of an activity.
    private static func suffix(of row: borrowing TokenPageRow) -> [UInt8]? {
        let (recipient, entry) = (row.recipient, row.entryText)
        guard recipient.count > 2, entry.hasPrefix(update.span) else { return nil }
        var key: [UInt8] = []
        let isUser = recipient[0] == UInt8(ascii: "u")
        let name = recipient.extracting(2..<recipient.count)
        guard TableKey.append(isUser: isUser, recipient: name, installation: row.installation, to: &key),
            NameCode.append(entry.extracting(update.count..<entry.count), to: &key)
        else { return nil }
        return key
    }

    private static let update = Array("update:".utf8)
}
