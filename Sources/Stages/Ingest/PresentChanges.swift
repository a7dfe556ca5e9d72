internal import LiveActivity

/// The changes of an installation that keeps its only recipient, which is the case for nearly every report.
/// It builds and compares only the touched rows. `RegistryChange.between` for all rows gives the same result,
/// and serves installations that left a recipient.
struct PresentChanges {
    private let old: Installation
    private let new: Installation
    private let merge: Merge
    private var tombstones: [RegistryChange] = []
    private(set) var list: [RegistryChange] = []

    /// - Parameter old: An installation for which `old.staysUnderItsRecipient(as: new)` is true.
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
        // A span borrows its elements without a copy.
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
        // A span borrows its elements without a copy.
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

    /// - Parameter isTouched: Whether fields other than the time may have changed.
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
    ///   - oldHash: The hash of the entry's previous token. A different token is always a change.
    ///   - old: Returns the previous row. It is called only if the comparison needs it.
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

    /// Returns the index of the matching element. It usually keeps its index.
    private static func index(near guess: Int, in count: Int, _ isIt: (Int) -> Bool) -> Int? {
        if guess < count, isIt(guess) { return guess }
        return (0..<count).first(where: isIt)
    }
}

extension Installation {
    /// Whether both have only this recipient and their rows have the same move times.
    func staysUnderItsRecipient(as new: Installation) -> Bool {
        moved.isEmpty && new.moved.isEmpty && movedAt == new.movedAt
            && user?.value == new.user?.value
    }

    /// Whether the profiles are equal except for their times.
    fileprivate func hasProfile(of old: Installation) -> Bool {
        (tags?.value ?? []).isExactly(old.tags?.value ?? [])
            && attributes?.value == old.attributes?.value
            && (locale?.value).isExactly(old.locale?.value)
            && (timeZone?.value).isExactly(old.timeZone?.value)
            && (os?.value).isExactly(old.os?.value)
            && (appBuild?.value).isExactly(old.appBuild?.value)
    }
}
