extension PageCursor {
    /// Whether a walk over activities that has come so far has yet to look at a row, a row of the same group.
    package func hasYetToMeet(_ row: borrowing TokenPageRow) -> Bool {
        guard let suffix = Self.suffix(of: row) else { return false }
        let isBehind = !suffix.lexicographicallyPrecedes(next)
        let isBeforeOrigin = suffix.lexicographicallyPrecedes(origin)
        return isWrapped ? isBehind && isBeforeOrigin : isBehind || isBeforeOrigin
    }

    /// What stands behind app and group in the row's key; nil for a row that is no activity's.
    private static func suffix(of row: borrowing TokenPageRow) -> [UInt8]? {
        let (recipient, entry) = (row.recipient, row.entryText)
        guard recipient.count > 2, entry.hasPrefix(update.span) else { return nil }
        var key: [UInt8] = []
        let isUser = recipient[0] == UInt8(ascii: "u")
        let name = recipient.extracting(2..<recipient.count)
        guard TableKey.append(isUser: isUser, name, row.installation, to: &key),
            NameCode.append(entry.extracting(update.count..<entry.count), to: &key)
        else { return nil }
        return key
    }

    private static let update = Array("update:".utf8)
}
