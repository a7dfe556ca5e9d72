internal import LiveActivity

/// What changes under the one recipient that an installation has and keeps: nearly every report. Only the
/// rows of what the report has touched are made, and compared; `RegistryChange.between` of all rows says
/// the same, and serves where a recipient is left.
struct PresentChanges {
    private let old: Installation
    private let new: Installation
    private let merge: Merge
    private var tombstones: [RegistryChange] = []
    private(set) var list: [RegistryChange] = []

    /// - Parameter old: `old.staysUnderItsRecipient(as: new)`.
    init(from old: Installation, to new: Installation, merge: Merge) {
        (self.old, self.new, self.merge) = (old, new, merge)
    }

    mutating func find(_ touched: Touched) {
        if case .installation = new.subject {
            if touched.everything {
                findStarts()
                findActivities()
            } else {
                findStarts(touched.starts)
                findActivities(touched.activities)
            }
        }
        findProfile(touched.everything || touched.profile)
        list += tombstones
    }

    private mutating func findStarts(_ indices: Touched.Indices) {
        let (oldList, newList) = (old.starts, new.starts)
        for index in indices { findStart(index, in: newList.span, after: oldList.span) }
    }

    private mutating func findActivities(_ indices: Touched.Indices) {
        let (oldList, newList) = (old.activities, new.activities)
        for index in indices { findActivity(index, in: newList.span, after: oldList.span) }
    }

    private mutating func findStarts() {
        let (oldList, newList) = (old.starts, new.starts)
        // What a span lends is not copied.
        let (olds, news) = (oldList.span, newList.span)
        for index in news.indices { findStart(index, in: news, after: olds) }
        for index in olds.indices {
            let kept = Self.index(near: index, in: news.count) { news[$0].type.isExactly(olds[index].type) }
            if kept == nil, old.isUsable(olds[index]) { bury(.start(type: olds[index].type)) }
        }
    }

    private mutating func findStart(
        _ index: Int, in news: Span<Installation.Start>, after olds: Span<Installation.Start>
    ) {
        let old = old
        let known = Self.index(near: index, in: olds.count) { olds[$0].type.isExactly(news[index].type) }
        let entry = RegistryKey.Entry.start(type: news[index].type)
        if let row = new.row(news[index]) {
            let hash = known.flatMap { olds[$0].token?.hash }
            note(row, at: entry, afterTokenOf: hash) { known.flatMap { old.row(olds[$0]) } }
        } else if let known, old.isUsable(olds[known]) {
            bury(entry)
        }
    }

    private mutating func findActivities() {
        let (oldList, newList) = (old.activities, new.activities)
        // What a span lends is not copied.
        let (olds, news) = (oldList.span, newList.span)
        for index in news.indices { findActivity(index, in: news, after: olds) }
        for index in olds.indices {
            let kept = Self.index(near: index, in: news.count) { news[$0].id.isExactly(olds[index].id) }
            if kept == nil, old.hasRow(olds[index]) { bury(.update(activity: olds[index].id)) }
        }
    }

    private mutating func findActivity(
        _ index: Int, in news: Span<Installation.Activity>, after olds: Span<Installation.Activity>
    ) {
        let old = old
        let known = Self.index(near: index, in: olds.count) { olds[$0].id.isExactly(news[index].id) }
        let entry = RegistryKey.Entry.update(activity: news[index].id)
        if let row = new.row(news[index]) {
            let hash = known.flatMap { olds[$0].token?.hash }
            note(row, at: entry, afterTokenOf: hash) { known.flatMap { old.row(olds[$0]) } }
        } else if let known, old.hasRow(olds[known]) {
            bury(entry)
        }
    }

    /// - Parameter isTouched: more than its time may have changed.
    private mutating func findProfile(_ isTouched: Bool) {
        let (before, now) = (old.profileUpdatedAt, new.profileUpdatedAt)
        let isSame = !isTouched || new.hasProfile(of: old)
        if now == before, isSame { return }
        guard let now else {
            if before != nil { bury(.profile) }
            return
        }
        if before != nil, isSame, !Grain.isCrossed(Grain.heartbeatMilliseconds, from: before, to: now) {
            return
        }
        list.append(change(.profile, new.profileRow.map(RegistryRow.profile)))
    }

    /// - Parameters:
    ///   - oldHash: of the token that the entry had; another token is news, whatever its row was.
    ///   - old: the row that the entry had, made only when it matters.
    private mutating func note(
        _ row: consuming TokenRow, at entry: consuming RegistryKey.Entry, afterTokenOf oldHash: String?,
        old: () -> TokenRow?
    ) {
        if row.tokenHash == nil || row.tokenHash == oldHash, let old = old(),
            !RegistryChange.isNews(row, after: old, merge.grain)
        {
            return
        }
        row.movedAt = new.movedAt
        list.append(change(entry, .token(consume row)))
    }

    private mutating func bury(_ entry: RegistryKey.Entry) { tombstones.append(change(entry, nil)) }

    private func change(
        _ entry: consuming RegistryKey.Entry, _ row: consuming RegistryRow?
    ) -> RegistryChange {
        var installation: String?
        if case .installation(let id) = new.subject { installation = id }
        let key = RegistryKey(
            app: merge.app.id, recipient: new.recipient, installation: installation, entry: entry)
        return RegistryChange(key: consume key, row: consume row)
    }

    /// It mostly stands where it stood.
    private static func index(near guess: Int, in count: Int, _ isIt: (Int) -> Bool) -> Int? {
        if guess < count, isIt(guess) { return guess }
        return (0..<count).first(where: isIt)
    }
}

extension Installation {
    /// Whether there is one recipient before and after, and its rows say the same of moves.
    func staysUnderItsRecipient(as new: Installation) -> Bool {
        moved.isEmpty && new.moved.isEmpty && movedAt == new.movedAt
            && user?.value == new.user?.value
    }

    /// But for its time.
    fileprivate func hasProfile(of old: Installation) -> Bool {
        (tags?.value ?? []).isExactly(old.tags?.value ?? [])
            && attributes?.value == old.attributes?.value
            && (locale?.value).isExactly(old.locale?.value)
            && (timeZone?.value).isExactly(old.timeZone?.value)
            && (os?.value).isExactly(old.os?.value)
            && (appBuild?.value).isExactly(old.appBuild?.value)
    }
}
