package import Store

/// Reading of a lane in pages.
extension Lane {
    /// The limit of rows that one page examines. Without it, a selection that leaves out most rows would keep
    /// a read transaction open for long. So a page may be empty and still not be the last.
    package static let examinedRowsMax = 16_384

    /// Replaces the content of the page with the next rows of a selection. Returns the cursor of the next
    /// page, or nil if this page is the last.
    ///
    /// - Parameter rowsMax: The limit of rows in the page.
    package func fillPage(
        with selection: TokenSelection, from cursor: PageCursor, into page: inout TokenPage,
        rowsMax: Int = TokenPage.rowsMaxDefault
    ) throws(StoreError) -> PageCursor? {
        precondition(rowsMax > 0, "rowsMax must be positive")
        page.removeAll()
        let (tables, names) = (tables, names)
        return try file.read { snapshot throws(StoreError) in
            var walk = PageWalk(selection, of: tables, names: names, rowsMax: rowsMax)
            return try walk.run(from: cursor, into: &page, snapshot: snapshot)
        }
    }

    /// Whether the lane has any activity of the group, even one that is not served.
    package func hasActivities(of group: String, app: String) throws(StoreError) -> Bool {
        let (tables, names) = (tables, names)
        return try file.read { snapshot throws(StoreError) in
            guard let number = try names.existingNumber(for: Array(app.utf8).span, snapshot: snapshot) else {
                return false
            }
            var prefix: [UInt8] = []
            OrderedNumber.append(number, to: &prefix)
            let groupName = Array(group.utf8)
            guard TableKey.appendGroup(groupName.span, to: &prefix) else { return false }
            let cursor = try snapshot.cursor(of: tables.updates, from: prefix.span)
            guard cursor.isOnRow else { return false }
            return cursor.key.hasPrefix(prefix.span)
        }
    }
}
