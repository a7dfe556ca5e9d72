internal import LiveActivity
internal import Store

/// One page of one selection, within one picture of the tables.
struct PageWalk: ~Copyable {
    private let selection: Selection
    private let eligibility: Eligibility
    private let tables: LaneTables
    private let names: Names
    private let rowsMax: Int
    private var filler: PageFiller
    private var examinedLeft = Lane.examinedMax

    init(_ selection: Selection, _ tables: LaneTables, _ names: Names, rowsMax: Int) {
        self.selection = selection
        self.tables = tables
        self.names = names
        self.rowsMax = rowsMax
        eligibility = Eligibility(selection)
        filler = PageFiller(names)
    }

    mutating func run(
        from cursor: PageCursor, into page: inout TokenPage, _ view: borrowing ReadView
    ) throws(StoreError) -> PageCursor? {
        guard let number = try names.known(Array(selection.app.utf8).span, view) else { return nil }
        var app: [UInt8] = []
        OrderedNumber.append(number, to: &app)
        switch selection.tokens {
        case .starts(let type):
            var typeless = app
            OrderedNumber.append(Names.none, to: &typeless)
            var typed: [UInt8]?
            if let number = try names.known(Array(type.utf8).span, view) {
                var prefix = app
                OrderedNumber.append(number, to: &prefix)
                typed = prefix
            }
            return try goRound(Source(app, tables.starts, typed, typeless, nil), cursor, &page, view)
        case .updates(let group):
            var code: [UInt8] = []
            let name = Array((group ?? "").utf8)
            guard RowPlace.append(group: group == nil ? nil : name.span, to: &code) else { return nil }
            return try goRound(Source(app, tables.updates, app + code, nil, code), cursor, &page, view)
        case .activities(let activities):
            return try walk(activities, app, from: cursor, &page, view)
        }
    }

    /// Where the rows of a selection stand: behind one beginning of a key, or two of equal rank.
    private struct Source {
        let app: [UInt8]
        let table: Table
        /// What goes before the other where both have a row for an installation.
        let first: [UInt8]?
        let second: [UInt8]?
        let group: [UInt8]?

        init(_ app: [UInt8], _ table: Table, _ first: [UInt8]?, _ second: [UInt8]?, _ group: [UInt8]?) {
            self.app = app
            self.table = table
            self.first = first
            self.second = second
            self.group = group
        }
    }

    /// To the end, then from the first to where it began.
    private mutating func goRound(
        _ source: Source, _ start: PageCursor, _ page: inout TokenPage, _ view: borrowing ReadView
    ) throws(StoreError) -> PageCursor? {
        var cursor = start
        if !cursor.isWrapped {
            if let next = try walk(source, from: cursor.next, to: nil, &page, view) {
                cursor.next = next
                return cursor
            }
            if cursor.origin.isEmpty { return nil }
            cursor.isWrapped = true
            cursor.next = []
        }
        guard let next = try walk(source, from: cursor.next, to: cursor.origin, &page, view) else {
            return nil
        }
        cursor.next = next
        return cursor
    }

    /// Walks one stretch; returns the first key it did not look at, nil when there is none.
    private mutating func walk(
        _ source: Source, from lower: [UInt8], to upper: [UInt8]?, _ page: inout TokenPage,
        _ view: borrowing ReadView
    ) throws(StoreError) -> [UInt8]? {
        guard let bounds = bounds(lower, upper) else { return nil }
        var a = try Stretch(view, source.table, source.first, bounds)
        var b = try Stretch(view, source.table, source.second, bounds)
        // The user's own profile may be before the row where the walk goes on.
        let firstProfile = source.app + lower.prefix(RecipientCode.bucketBytes)
        var profiles = try view.cursor(of: tables.profiles, from: firstProfile.span)
        var profileKeys = ProfileKeys(app: source.app)
        var (user, installation) = (Span<UInt8>(), Span<UInt8>())
        let group = source.group?.span
        while a.isInside || b.isInside {
            let order = !b.isInside ? -1 : !a.isInside ? 1 : a.suffix.order(to: b.suffix)
            if page.count >= rowsMax || examinedLeft <= 0 { return Array(order <= 0 ? a.suffix : b.suffix) }
            examinedLeft -= 1
            let suffix = order <= 0 ? a.suffix : b.suffix
            let value = try order <= 0 ? a.value : b.value
            var isTaken = eligibility.admits(value)
            if isTaken, let program = selection.program {
                if profileKeys.move(to: suffix) {
                    user = try profiles.advance(to: profileKeys.user.span) ? profiles.value : Span()
                }
                let isThere = try profiles.advance(to: profileKeys.installation.span)
                installation = try isThere ? profiles.value : Span()
                isTaken = program.matches(
                    user: user, installation: installation,
                    os: OSVersion.read(value, at: TokenValue.Place.os))
            }
            if isTaken { try filler.append(suffix, value, group: group, to: &page, view) }
            if order <= 0 { try a.next() }
            // The installation's own token goes before the one that serves every type.
            if order > 0 || order == 0 && isTaken { try b.next() }
        }
        return nil
    }

    private func bounds(_ lower: [UInt8], _ upper: [UInt8]?) -> Bounds? {
        var bounds = Bounds(lower: lower, upper: upper)
        guard let recipient = selection.recipient else { return bounds }
        var code: [UInt8] = []
        guard RecipientCode.append(recipient, to: &code) else { return nil }
        if bounds.lower.lexicographicallyPrecedes(code) { bounds.lower = code }
        let end = code.behindPrefix
        if let end, bounds.upper.map({ end.lexicographicallyPrecedes($0) }) ?? true { bounds.upper = end }
        return bounds
    }

    /// Each activity has few rows, so a page holds whole activities, and one more than asked where needed.
    private mutating func walk(
        _ activities: [String], _ app: [UInt8], from start: PageCursor, _ page: inout TokenPage,
        _ view: borrowing ReadView
    ) throws(StoreError) -> PageCursor? {
        var cursor = start
        while cursor.activity < activities.count {
            if page.count >= rowsMax || examinedLeft <= 0 { return cursor }
            try append(activities[cursor.activity], app, &page, view)
            cursor.activity += 1
        }
        return nil
    }

    private mutating func append(
        _ activity: String, _ app: [UInt8], _ page: inout TokenPage, _ view: borrowing ReadView
    ) throws(StoreError) {
        var prefix = app
        guard NameCode.append(Array(activity.utf8).span, to: &prefix) else { return }
        guard let bounds = bounds([], nil) else { return }
        var entries = try Stretch(view, tables.activities, prefix, bounds)
        var key: [UInt8] = []
        while entries.isInside {
            let group = try entries.value
            RowPlace.update(ofActivity: entries.key, group: group, into: &key)
            examinedLeft -= 1
            if let value = try view.value(of: key.span, in: tables.updates), eligibility.admits(value) {
                let suffix = key.span.extracting(app.count + group.count..<key.count)
                filler.forgetGroup()
                try filler.append(suffix, value, group: group, to: &page, view)
            }
            try entries.next()
        }
    }
}
