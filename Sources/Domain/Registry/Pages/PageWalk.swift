internal import LiveActivity
internal import Store

/// One page of one selection, within one read transaction.
struct PageWalk: ~Copyable {
    private let selection: TokenSelection
    private let eligibility: Eligibility
    private let tables: LaneTables
    private let names: NameTable
    private let rowsMax: Int
    private var filler: PageFiller
    private var examinedLeft = Lane.examinedRowsMax

    init(_ selection: TokenSelection, of tables: LaneTables, names: NameTable, rowsMax: Int) {
        self.selection = selection
        self.tables = tables
        self.names = names
        self.rowsMax = rowsMax
        eligibility = Eligibility(selection)
        filler = PageFiller(names: names)
    }

    mutating func run(
        from cursor: PageCursor, into page: inout TokenPage, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> PageCursor? {
        guard let number = try names.existingNumber(for: Array(selection.app.utf8).span, snapshot: picture)
        else { return nil }
        var app: [UInt8] = []
        OrderedNumber.append(number, to: &app)
        switch selection.tokens {
        case .starts(let type):
            var typeless = app
            OrderedNumber.append(NameTable.noName, to: &typeless)
            var typed: [UInt8]?
            if let number = try names.existingNumber(for: Array(type.utf8).span, snapshot: picture) {
                var prefix = app
                OrderedNumber.append(number, to: &prefix)
                typed = prefix
            }
            var source = RowSource(app: app, table: tables.starts, first: typed, second: typeless, group: nil)
            source.type = Array(type.utf8)
            return try walkAround(source, from: cursor, to: &page, snapshot: picture)
        case .updates(let group):
            var code: [UInt8] = []
            let name = Array((group ?? "").utf8)
            guard TableKey.append(group: group == nil ? nil : name.span, to: &code) else { return nil }
            return try walkAround(
                RowSource(app: app, table: tables.updates, first: app + code, second: nil, group: code),
                from: cursor, to: &page, snapshot: picture)
        case .activities(let activities):
            return try walk(activities, of: app, from: cursor, filling: &page, seen: picture)
        }
    }

    /// The place of a selection's rows: one key prefix, or two whose rows are merged in order.
    private struct RowSource {
        let app: [UInt8]
        let table: Table
        /// The preferred prefix, if both have a row for an installation.
        let first: [UInt8]?
        let second: [UInt8]?
        let group: [UInt8]?
        /// The type to start. The second source serves all types and may except this one.
        var type: [UInt8]?

        init(app: [UInt8], table: Table, first: [UInt8]?, second: [UInt8]?, group: [UInt8]?) {
            self.app = app
            self.table = table
            self.first = first
            self.second = second
            self.group = group
        }
    }

    /// Walks to the end, then from the first key to the origin.
    private mutating func walkAround(
        _ source: RowSource, from start: PageCursor, to page: inout TokenPage,
        snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> PageCursor? {
        var cursor = start
        if !cursor.isWrapped {
            if let next = try walk(source, from: cursor.next, to: nil, filling: &page, seen: picture) {
                cursor.next = next
                return cursor
            }
            if cursor.origin.isEmpty { return nil }
            cursor.isWrapped = true
            cursor.next = []
        }
        guard let next = try walk(source, from: cursor.next, to: cursor.origin, filling: &page, seen: picture)
        else {
            return nil
        }
        cursor.next = next
        return cursor
    }

    /// Walks one range. Returns the first key that it did not examine, or nil at the end.
    private mutating func walk(
        _ source: RowSource, from lower: [UInt8], to upper: [UInt8]?, filling page: inout TokenPage,
        seen picture: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        guard let recipients = selection.recipients else {
            return try walk(
                source, within: KeyBounds(lower: lower, upper: upper), filling: &page, seen: picture)
        }
        for code in recipients.codes[recipients.firstIndex(from: lower)...] {
            let first = code.lexicographicallyPrecedes(lower) ? lower : code
            if let upper, !first.lexicographicallyPrecedes(upper) { return nil }
            if page.count >= rowsMax || examinedLeft <= 0 { return first }
            // A recipient without rows in this lane costs a lookup too.
            examinedLeft -= 1
            var end = code.firstKeyAfterPrefix
            if let upper, end.map({ upper.lexicographicallyPrecedes($0) }) ?? true { end = upper }
            if let next = try walk(
                source, within: KeyBounds(lower: first, upper: end), filling: &page, seen: picture)
            {
                return next
            }
        }
        return nil
    }

    private mutating func walk(
        _ source: RowSource, within bounds: KeyBounds, filling page: inout TokenPage,
        seen picture: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        var a = try PrefixRows(of: picture, in: source.table, prefix: source.first, within: bounds)
        var b = try PrefixRows(of: picture, in: source.table, prefix: source.second, within: bounds)
        if !a.isInside, !b.isInside { return nil }
        // The profile of the user can sort before the row at which the walk resumes.
        let firstProfile = source.app + bounds.lower.prefix(RecipientCode.bucketBytes)
        var profiles = try picture.cursor(
            of: tables.profiles, from: firstProfile.span, isNeeded: selection.program != nil)
        var profileKeys = ProfileKeys(app: source.app)
        var (user, installation) = (Span<UInt8>(), Span<UInt8>())
        var dismissals = try DismissalWalk(
            selection.dismissals, app: source.app, in: tables.updates, from: bounds.lower, snapshot: picture)
        let group = source.group?.span
        while a.isInside || b.isInside {
            let order = !b.isInside ? -1 : !a.isInside ? 1 : a.suffix.order(to: b.suffix)
            if page.count >= rowsMax || examinedLeft <= 0 { return Array(order <= 0 ? a.suffix : b.suffix) }
            examinedLeft -= 1
            let suffix = order <= 0 ? a.suffix : b.suffix
            let value = try order <= 0 ? a.value : b.value
            var exclusion = eligibility.exclusion(of: value)
            if exclusion == nil, order > 0, let type = source.type,
                !TokenValue.canStart(type.span, with: value)
            {
                exclusion = .unregistered
            }
            if exclusion == nil, let program = selection.program {
                if profileKeys.move(to: suffix) {
                    user = try profiles.advance(to: profileKeys.user.span) ? profiles.value : Span()
                }
                let isThere = try profiles.advance(to: profileKeys.installation.span)
                installation = try isThere ? profiles.value : Span()
                let isChosen = program.matches(
                    user: user, installation: installation,
                    os: OSVersion.read(value, at: TokenValue.FieldOffset.os))
                if !isChosen { exclusion = .notSelected }
            }
            if exclusion == nil, dismissals.isNeeded, try dismissals.contains(suffix) {
                exclusion = .dismissed
            }
            if let exclusion {
                page.exclusions.add(exclusion)
            } else {
                try filler.append(suffix, value: value, group: group, to: &page, snapshot: picture)
            }
            if order <= 0 { try a.next() }
            // The installation's token for the type has priority over the one for all types.
            if order == 0, exclusion == nil { page.exclusions.add(.reachedByTypedToken) }
            if order > 0 || order == 0 && exclusion == nil { try b.next() }
        }
        return nil
    }

    private mutating func walk(
        _ activities: [String], of app: [UInt8], from start: PageCursor, filling page: inout TokenPage,
        seen picture: borrowing ReadSnapshot
    ) throws(StoreError) -> PageCursor? {
        var cursor = start
        while cursor.activity < activities.count {
            let lower = cursor.isWrapped ? cursor.next : []
            if let next = try appendActivity(
                activities[cursor.activity], of: app, from: lower, filling: &page, snapshot: picture)
            {
                return PageCursor(origin: [], next: next, isWrapped: true, activity: cursor.activity)
            }
            cursor.activity += 1
            cursor.isWrapped = false
            cursor.next = []
        }
        return nil
    }

    /// Walks the rows of an activity. Returns the first key that it did not examine, or nil at the end.
    private mutating func appendActivity(
        _ activity: String, of app: [UInt8], from lower: [UInt8], filling page: inout TokenPage,
        snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        if page.count >= rowsMax || examinedLeft <= 0 { return lower }
        // An activity without rows in this lane costs a lookup too.
        examinedLeft -= 1
        var prefix = app
        guard NameCode.append(Array(activity.utf8).span, to: &prefix) else { return nil }
        var entries = try PrefixRows(
            of: picture, in: tables.activities, prefix: prefix, within: KeyBounds(lower: lower, upper: nil))
        var key: [UInt8] = []
        while entries.isInside {
            if page.count >= rowsMax || examinedLeft <= 0 { return Array(entries.suffix) }
            let group = try entries.value
            TableKey.writeUpdateKey(ofActivity: entries.key, group: group, into: &key)
            examinedLeft -= 1
            if selection.recipients?.contains(entries.suffix) ?? true,
                let value = try picture.value(of: key.span, in: tables.updates)
            {
                if let exclusion = eligibility.exclusion(of: value) {
                    page.exclusions.add(exclusion)
                } else {
                    let suffix = key.span.extracting(app.count + group.count..<key.count)
                    filler.resetGroup()
                    try filler.append(suffix, value: value, group: group, to: &page, snapshot: picture)
                }
            }
            try entries.next()
        }
        return nil
    }
}
