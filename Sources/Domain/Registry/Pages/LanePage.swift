package import Store

extension Lane {
    /// The limit of rows that one page examines. Without it, a selection with few matches would keep a read
    /// transaction open for long. So a page may be empty and still not the last.
    package static let examinedRowsMax = 16_384

    /// Fills the page with the next rows of a selection. Returns the cursor of the next page, or nil if the
    /// walk is complete.
    package func fillPage(
        with selection: TokenSelection, from cursor: PageCursor, into page: inout TokenPage,
        rowsMax: Int = TokenPage.rowsMaxDefault
    ) throws(StoreError) -> PageCursor? {
        precondition(rowsMax > 0, "rowsMax must be positive")
        page.removeAll()
        let (tables, names) = (tables, names)
        return try file.read { picture throws(StoreError) in
            var walk = PageWalk(selection, of: tables, names: names, rowsMax: rowsMax)
            return try walk.run(from: cursor, into: &page, snapshot: picture)
        }
    }

    /// Whether a page of the group's activities could contain or exclude any row.
    package func hasActivities(of group: String, app: String) throws(StoreError) -> Bool {
        let (tables, names) = (tables, names)
        return try file.read { picture throws(StoreError) in
            guard let number = try names.existingNumber(for: Array(app.utf8).span, snapshot: picture) else {
                return false
            }
            var prefix: [UInt8] = []
            OrderedNumber.append(number, to: &prefix)
            let name = Array(group.utf8)
            guard TableKey.append(group: name.span, to: &prefix) else { return false }
            let cursor = try picture.cursor(of: tables.updates, from: prefix.span)
            guard cursor.isOnRow else { return false }
            return cursor.key.hasPrefix(prefix.span)
        }
    }
}
