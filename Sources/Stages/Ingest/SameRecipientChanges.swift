internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

/// The registry changes of an installation that keeps its only recipient. Nearly all reports leave such an
/// installation, so only the affected rows are made and compared.
///
/// The comparison of all rows in `RegistryChange` gives the same changes and costs more. It serves installations that
/// left a recipient.
struct SameRecipientChanges {
    private let old: Installation
    private let new: Installation
    private let merger: ReportMerger
    /// The tombstones, which come after the changed rows in `list`.
    private var tombstones: [RegistryChange] = []
    /// The changes: changed rows, and then the tombstones.
    private(set) var list: [RegistryChange] = []

    /// - Parameter old: an installation for which `old.keepsRecipient(in: new)` is true.
    init(from old: Installation, to new: Installation, merger: ReportMerger) {
        (self.old, self.new, self.merger) = (old, new, merger)
    }

    /// Fills `list`. It is called once.
    mutating func findChanges(in affectedRows: AffectedRows) {
        if case .installation = new.subject {
            if affectedRows.includesAll {
                compareAllStartTokens()
                compareAllActivities()
            } else {
                compareStartTokens(at: affectedRows.startTokens)
                compareActivities(at: affectedRows.activities)
            }
        }
        compareProfile(isAffected: affectedRows.includesAll || affectedRows.includesProfile)
        list += tombstones
    }

    // MARK: Tokens and activities

    private mutating func compareStartTokens(at indices: AffectedRows.EntryIndices) {
        let (oldStarts, newStarts) = (old.startTokens, new.startTokens)
        for index in indices { compareStartToken(at: index, in: newStarts.span, after: oldStarts.span) }
    }

    private mutating func compareActivities(at indices: AffectedRows.EntryIndices) {
        let (oldActivities, newActivities) = (old.activities, new.activities)
        for index in indices { compareActivity(at: index, in: newActivities.span, after: oldActivities.span) }
    }

    private mutating func compareAllStartTokens() {
        let (oldStarts, newStarts) = (old.startTokens, new.startTokens)
        // A span borrows its elements without a copy.
        let (oldSpan, newSpan) = (oldStarts.span, newStarts.span)
        for index in newSpan.indices { compareStartToken(at: index, in: newSpan, after: oldSpan) }
        for index in oldSpan.indices {
            let newIndex = Self.index(near: index, in: newSpan.count) {
                newSpan[$0].type.isExactlyEqual(to: oldSpan[index].type)
            }
            if newIndex == nil, old.isUsable(oldSpan[index]) {
                appendTombstone(for: .start(type: oldSpan[index].type))
            }
        }
    }

    /// Compares the rows of one start token before and after.
    private mutating func compareStartToken(
        at index: Int, in newSpan: Span<Installation.StartToken>, after oldSpan: Span<Installation.StartToken>
    ) {
        // The closures below cannot use `self`, which is being changed.
        let old = old
        let oldIndex = Self.index(near: index, in: oldSpan.count) {
            oldSpan[$0].type.isExactlyEqual(to: newSpan[index].type)
        }
        let entry = RegistryKey.Entry.start(type: newSpan[index].type)
        if let row = new.row(for: newSpan[index]) {
            let oldHash = oldIndex.flatMap { oldSpan[$0].token?.hash }
            appendIfChanged(row, at: entry, afterTokenHash: oldHash) {
                oldIndex.flatMap { old.row(for: oldSpan[$0]) }
            }
        } else if let oldIndex, old.isUsable(oldSpan[oldIndex]) {
            appendTombstone(for: entry)
        }
    }

    private mutating func compareAllActivities() {
        let (oldActivities, newActivities) = (old.activities, new.activities)
        // A span borrows its elements without a copy.
        let (oldSpan, newSpan) = (oldActivities.span, newActivities.span)
        for index in newSpan.indices { compareActivity(at: index, in: newSpan, after: oldSpan) }
        for index in oldSpan.indices {
            let newIndex = Self.index(near: index, in: newSpan.count) {
                newSpan[$0].id.isExactlyEqual(to: oldSpan[index].id)
            }
            if newIndex == nil, old.hasRow(for: oldSpan[index]) {
                appendTombstone(for: .update(activity: oldSpan[index].id))
            }
        }
    }

    /// Compares the rows of one activity before and after.
    private mutating func compareActivity(
        at index: Int, in newSpan: Span<Installation.Activity>, after oldSpan: Span<Installation.Activity>
    ) {
        // The closures below cannot use `self`, which is being changed.
        let old = old
        let oldIndex = Self.index(near: index, in: oldSpan.count) {
            oldSpan[$0].id.isExactlyEqual(to: newSpan[index].id)
        }
        let entry = RegistryKey.Entry.update(activity: newSpan[index].id)
        if let row = new.row(for: newSpan[index]) {
            let oldHash = oldIndex.flatMap { oldSpan[$0].token?.hash }
            appendIfChanged(row, at: entry, afterTokenHash: oldHash) {
                oldIndex.flatMap { old.row(for: oldSpan[$0]) }
            }
        } else if let oldIndex, old.hasRow(for: oldSpan[oldIndex]) {
            appendTombstone(for: entry)
        }
    }

    // MARK: Profile

    /// - Parameter isAffected: whether values other than the time may have changed.
    private mutating func compareProfile(isAffected: Bool) {
        let (oldTime, newTime) = (old.profileUpdatedAt, new.profileUpdatedAt)
        let isSame = !isAffected || new.hasSameProfile(as: old)
        if newTime == oldTime, isSame { return }
        guard let newTime else {
            if oldTime != nil { appendTombstone(for: .profile) }
            return
        }
        if oldTime != nil, isSame,
            !WriteInterval.isBoundaryCrossed(
                every: WriteInterval.heartbeatMilliseconds, from: oldTime, to: newTime)
        {
            return
        }
        list.append(change(of: .profile, to: new.profileRow.map(RegistryRow.profile)))
    }

    // MARK: Changes

    /// Adds a row if it must be written.
    ///
    /// - Parameters:
    ///   - oldHash: the hash of the entry's previous token. A different token is always a change.
    ///   - makeOldRow: returns the previous row. It is called only if the comparison needs it.
    private mutating func appendIfChanged(
        _ row: consuming TokenRow, at entry: consuming RegistryKey.Entry, afterTokenHash oldHash: String?,
        old makeOldRow: () -> TokenRow?
    ) {
        let mayBeUnchanged = row.tokenHash == nil || row.tokenHash == oldHash
        if mayBeUnchanged, let oldRow = makeOldRow(),
            !RegistryChange.mustWrite(row, after: oldRow, interval: merger.writeInterval)
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

    /// Returns the index of the matching element. Elements usually keep their index, so `likelyIndex` is tried first.
    private static func index(near likelyIndex: Int, in count: Int, where matches: (Int) -> Bool) -> Int? {
        if likelyIndex < count, matches(likelyIndex) { return likelyIndex }
        return (0..<count).first(where: matches)
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
        (tags == nil) == (old.tags == nil)
            && (tags?.value ?? []).isExactlyEqual(to: old.tags?.value ?? [])
            && attributes?.value == old.attributes?.value
            && (locale?.value).isExactlyEqual(to: old.locale?.value)
            && (timeZone?.value).isExactlyEqual(to: old.timeZone?.value)
            && (os?.value).isExactlyEqual(to: old.os?.value)
            && (appBuild?.value).isExactlyEqual(to: old.appBuild?.value)
    }
}
