package import Store

extension Lane {
    /// Rows looked at for one page, wanted or not: a selection that wants few must not keep one picture
    /// of the tables open for long. A page may therefore be empty and not the last.
    package static let examinedMax = 16_384

    /// Fills the page with the next rows of a selection and returns where to go on; nil when the walk has
    /// come round to where it began.
    package func page(
        _ selection: Selection, from cursor: PageCursor, into page: inout TokenPage,
        rowsMax: Int = TokenPage.rowsMaxUsual
    ) throws(StoreError) -> PageCursor? {
        precondition(rowsMax > 0, "a page has rows")
        page.removeAll()
        let (tables, names) = (tables, names)
        return try file.read { picture throws(StoreError) in
            var walk = PageWalk(selection, of: tables, names: names, rowsMax: rowsMax)
            return try walk.run(from: cursor, into: &page, picture)
        }
    }

    /// Whether a page of the group's activities could have, or leave out, anybody at all.
    package func hasActivities(of group: String, app: String) throws(StoreError) -> Bool {
        let (tables, names) = (tables, names)
        return try file.read { picture throws(StoreError) in
            guard let number = try names.known(Array(app.utf8).span, picture) else { return false }
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
