internal import Identifiers
package import InstallationRecords
internal import JSON
package import RecordFormat

/// A record for `registry`: a row, or its tombstone.
package struct RegistryChange: Sendable, Hashable {
    package var key: RegistryKey
    /// Nil for a tombstone.
    package var row: Maybe<RegistryRow>

    package init(key: RegistryKey, row: RegistryRow?) {
        self.key = key
        self.row = row
    }

    /// Appends the row as JSON. Returns false for a tombstone, which has no row.
    borrowing func appendRow(to writer: inout JSONWriter) -> Bool {
        switch row {
        case .token(let row)?: row.append(to: &writer)
        case .profile(let row)?: row.append(to: &writer)
        case nil: return false
        }
        return true
    }

    /// Returns the changes that turn the rows of an old installation into the rows of a new one. A row whose times
    /// alone differ is written once per write interval.
    ///
    /// - Parameters:
    ///   - old: nil for an unknown installation.
    ///   - affectedRows: the rows that can differ.
    static func between(
        _ old: Installation?, and new: Installation, affectedRows: AffectedRows, merger: ReportMerger
    ) -> [RegistryChange] {
        let before = old ?? Installation(app: new.app, subject: new.subject)
        guard old == nil || before.keepsRecipient(in: new) else {
            // The rows of several recipients change, so all rows are compared.
            return between(RegistryRows(of: old), and: RegistryRows(of: new), interval: merger.writeInterval)
        }
        var changes = SameRecipientChanges(from: before, to: new, merger: merger)
        changes.findChanges(in: affectedRows)
        return changes.list
    }

    /// Compares all rows of all owners. Returns the changed rows, and then the tombstones.
    static func between(_ old: RegistryRows, and new: RegistryRows, interval: WriteInterval)
        -> [RegistryChange]
    {
        var changes: [RegistryChange] = []
        var keptCount = 0
        for index in new.entries.indices {
            let oldIndex = old.index(of: new.entries[index].entry, near: index)
            let hasChanged =
                oldIndex.map {
                    mustWrite(new.entries[index].row, after: old.entries[$0].row, interval: interval)
                } ?? true
            if oldIndex != nil { keptCount += 1 }
            for owner in new.owners where hasChanged || !old.owners.contains(owner) {
                changes.append(
                    RegistryChange(key: new.key(at: index, of: owner), row: new.row(at: index, of: owner)))
            }
        }
        let mayHaveTombstones = keptCount < old.entries.count || old.owners != new.owners
        if mayHaveTombstones { appendTombstones(of: old, without: new, to: &changes) }
        return changes
    }

    /// Appends tombstones of the old rows that are not among the new ones.
    private static func appendTombstones(
        of old: RegistryRows, without new: RegistryRows, to changes: inout [RegistryChange]
    ) {
        for owner in old.owners {
            let isKept = new.owners.contains { $0.recipient == owner.recipient }
            for index in old.entries.indices
            where !isKept || new.index(of: old.entries[index].entry, near: index) == nil {
                changes.append(RegistryChange(key: old.key(at: index, of: owner), row: nil))
            }
        }
    }

    // MARK: One row

    /// Whether a row differs from the row before, or is the first repetition in its write interval.
    private static func mustWrite(_ new: RegistryRow, after old: RegistryRow, interval: WriteInterval)
        -> Bool
    {
        switch (new, old) {
        case (.token(let new), .token(let old)): return mustWrite(new, after: old, interval: interval)
        case (.profile(let new), .profile(var old)):
            let oldUpdatedAt = old.updatedAt
            old.updatedAt = new.updatedAt
            return new != old || !new.isSpelled(as: old)
                || WriteInterval.isBoundaryCrossed(
                    every: WriteInterval.heartbeatMilliseconds, from: oldUpdatedAt, to: new.updatedAt)
        case (.token, .profile), (.profile, .token): return true
        }
    }

    /// Whether a token's row differs from the row before, or is the first repetition in its write interval.
    static func mustWrite(_ new: TokenRow, after old: consuming TokenRow, interval: WriteInterval)
        -> Bool
    {
        // The times are compared separately, because only a write interval makes them a change.
        let (oldRegisteredAt, oldExpiresAt) = (old.registeredAt, old.expiresAt)
        old.registeredAt = new.registeredAt
        old.expiresAt = new.expiresAt
        let hasOtherExpiration = (new.expiresAt == nil) != (oldExpiresAt == nil)
        if new != old || !new.isSpelled(as: old) || hasOtherExpiration { return true }
        guard let newExpiresAt = new.expiresAt else {
            return WriteInterval.isBoundaryCrossed(
                every: WriteInterval.heartbeatMilliseconds, from: oldRegisteredAt, to: new.registeredAt)
        }
        return WriteInterval.isBoundaryCrossed(
            every: interval.updateTokenMilliseconds, from: oldRegisteredAt, to: new.registeredAt)
            || WriteInterval.isBoundaryCrossed(
                every: interval.updateTokenMilliseconds, from: oldExpiresAt, to: newExpiresAt)
    }
}

// `==` treats texts as equal that Unicode calls equivalent. A row with another spelling must be written.

extension TokenRow {
    fileprivate func isSpelled(as old: TokenRow) -> Bool {
        attributesType.isExactlyEqual(to: old.attributesType) && group.isExactlyEqual(to: old.group)
            && os.isExactlyEqual(to: old.os)
            && channel.isExactlyEqual(to: old.channel)
            && (unregisteredTypes ?? []).isExactlyEqual(to: old.unregisteredTypes ?? [])
    }
}

extension ProfileRow {
    fileprivate func isSpelled(as old: ProfileRow) -> Bool {
        (tags == nil) == (old.tags == nil)
            && (tags ?? []).isExactlyEqual(to: old.tags ?? []) && locale.isExactlyEqual(to: old.locale)
            && timeZone.isExactlyEqual(to: old.timeZone)
            && os.isExactlyEqual(to: old.os) && appBuild.isExactlyEqual(to: old.appBuild)
    }
}
