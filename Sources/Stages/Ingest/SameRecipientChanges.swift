internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

/// The changes of an installation that keeps its only recipient, which is the case for nearly every report.
/// It builds and compares only the touched rows. `RegistryChange.between` for all rows gives the same result,
/// and serves installations that left a recipient.
struct SameRecipientChanges {
    private let old: Installation
    private let new: Installation
    private let merger: ReportMerger
    private var tombstones: [RegistryChange] = []
    private(set) var list: [RegistryChange] = []

    /// - Parameter old: An installation for which `old.keepsRecipient(as: new)` is true.
    init(from old: Installation, to new: Installation, merger: ReportMerger) {
        (self.old, self.new, self.merger) = (old, new, merger)
    }

    mutating func findChanges(in affectedRows: AffectedRows) {
        if case .installation = new.subject {
            if affectedRows.includesAll {
                findAllStarts()
                findAllActivities()
            } else {
                findStarts(at: affectedRows.starts)
                findActivities(at: affectedRows.activities)
            }
        }
        findProfile(isAffected: affectedRows.includesAll || affectedRows.includesProfile)
        list += tombstones
    }

    private mutating func findStarts(at indices: AffectedRows.EntryIndices) {
        let (oldList, newList) = (old.startTokens, new.startTokens)
        for index in indices { findStart(at: index, in: newList.span, after: oldList.span) }
    }

    private mutating func findActivities(at indices: AffectedRows.EntryIndices) {
        let (oldList, newList) = (old.activities, new.activities)
        for index in indices { findActivity(at: index, in: newList.span, after: oldList.span) }
    }

    private mutating func findAllStarts() {
        let (oldList, newList) = (old.startTokens, new.startTokens)
        // A span borrows its elements without a copy.
        let (olds, news) = (oldList.span, newList.span)
        for index in news.indices { findStart(at: index, in: news, after: olds) }
        for index in olds.indices {
            let kept = Self.index(near: index, in: news.count) {
                news[$0].type.isExactlyEqual(to: olds[index].type)
            }
            if kept == nil, old.isUsable(olds[index]) { appendTombstone(for: .start(type: olds[index].type)) }
        }
    }

    private mutating func findStart(
        at index: Int, in news: Span<Installation.StartToken>, after olds: Span<Installation.StartToken>
    ) {
        let old = old
        let known = Self.index(near: index, in: olds.count) {
            olds[$0].type.isExactlyEqual(to: news[index].type)
        }
        let entry = RegistryKey.Entry.start(type: news[index].type)
        if let row = new.row(for: news[index]) {
            let hash = known.flatMap { olds[$0].token?.hash }
            record(row, at: entry, afterTokenHash: hash) { known.flatMap { old.row(for: olds[$0]) } }
        } else if let known, old.isUsable(olds[known]) {
            appendTombstone(for: entry)
        }
    }

    private mutating func findAllActivities() {
        let (oldList, newList) = (old.activities, new.activities)
        // A span borrows its elements without a copy.
        let (olds, news) = (oldList.span, newList.span)
        for index in news.indices { findActivity(at: index, in: news, after: olds) }
        for index in olds.indices {
            let kept = Self.index(near: index, in: news.count) {
                news[$0].id.isExactlyEqual(to: olds[index].id)
            }
            if kept == nil, old.hasRow(for: olds[index]) {
                appendTombstone(for: .update(activity: olds[index].id))
            }
        }
    }

    private mutating func findActivity(
        at index: Int, in news: Span<Installation.Activity>, after olds: Span<Installation.Activity>
    ) {
        let old = old
        let known = Self.index(near: index, in: olds.count) { olds[$0].id.isExactlyEqual(to: news[index].id) }
        let entry = RegistryKey.Entry.update(activity: news[index].id)
        if let row = new.row(for: news[index]) {
            let hash = known.flatMap { olds[$0].token?.hash }
            record(row, at: entry, afterTokenHash: hash) { known.flatMap { old.row(for: olds[$0]) } }
        } else if let known, old.hasRow(for: olds[known]) {
            appendTombstone(for: entry)
        }
    }

    /// - Parameter isTouched: Whether fields other than the time may have changed.
    private mutating func findProfile(isAffected isTouched: Bool) {
        let (before, now) = (old.profileUpdatedAt, new.profileUpdatedAt)
        let isSame = !isTouched || new.hasSameProfile(as: old)
        if now == before, isSame { return }
        guard let now else {
            if before != nil { appendTombstone(for: .profile) }
            return
        }
        if before != nil, isSame,
            !WriteInterval.isBoundaryCrossed(
                every: WriteInterval.heartbeatMilliseconds, from: before, to: now)
        {
            return
        }
        list.append(change(of: .profile, to: new.profileRow.map(RegistryRow.profile)))
    }

    /// - Parameters:
    ///   - oldHash: The hash of the entry's previous token. A different token is always a change.
    ///   - old: Returns the previous row. It is called only if the comparison needs it.
    private mutating func record(
        _ row: consuming TokenRow, at entry: consuming RegistryKey.Entry, afterTokenHash oldHash: String?,
        old: () -> TokenRow?
    ) {
        if row.tokenHash == nil || row.tokenHash == oldHash, let old = old(),
            !RegistryChange.mustWrite(row, after: old, interval: merger.writeInterval)
        {
            return
        }
        row.movedAt = new.movedAt
        list.append(change(of: entry, to: .token(consume row)))
    }

    private mutating func appendTombstone(for entry: RegistryKey.Entry) {
        tombstones.append(change(of: entry, to: nil))
    }

    private func change(
        of entry: consuming RegistryKey.Entry, to row: consuming RegistryRow?
    ) -> RegistryChange {
        var installation: String?
        if case .installation(let id) = new.subject { installation = id }
        let key = RegistryKey(
            app: merger.app.id, recipient: new.recipient, installation: installation, entry: entry)
        return RegistryChange(key: consume key, row: consume row)
    }

    /// Returns the index of the matching element. It usually keeps its index.
    private static func index(near guess: Int, in count: Int, where isIt: (Int) -> Bool) -> Int? {
        if guess < count, isIt(guess) { return guess }
        return (0..<count).first(where: isIt)
    }
}

extension Installation {
    /// Whether both have only this recipient and their rows have the same move times.
    func keepsRecipient(in new: Installation) -> Bool {
        formerRecipients.isEmpty && new.formerRecipients.isEmpty && movedAt == new.movedAt
            && user?.value == new.user?.value
    }

    /// Whether the profiles are equal except for their times.
    fileprivate func hasSameProfile(as old: Installation) -> Bool {
        (tags?.value ?? []).isExactlyEqual(to: old.tags?.value ?? [])
            && attributes?.value == old.attributes?.value
            && (locale?.value).isExactlyEqual(to: old.locale?.value)
            && (timeZone?.value).isExactlyEqual(to: old.timeZone?.value)
            && (os?.value).isExactlyEqual(to: old.os?.value)
            && (appBuild?.value).isExactlyEqual(to: old.appBuild?.value)
    }
}
