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

    /// - Returns: False for a tombstone, which has no row.
    borrowing func appendRow(to writer: inout JSONWriter) -> Bool {
        switch row {
        case .token(let row)?: row.append(to: &writer)
        case .profile(let row)?: row.append(to: &writer)
        case nil: return false
        }
        return true
    }

    /// Returns the changes that turn the rows of one record into the rows of another. Rows are equal if only
    /// times differ, within one write interval.
    ///
    /// - Parameter touched: The rows that can differ.
    static func between(
        _ old: Installation?, and new: Installation, affectedRows: AffectedRows, merger: ReportMerger
    ) -> [RegistryChange] {
        let before = old ?? Installation(app: new.app, subject: new.subject)
        guard old == nil || before.keepsRecipient(in: new) else {
            return between(RegistryRows(of: old), and: RegistryRows(of: new), interval: merger.writeInterval)
        }
        var changes = SameRecipientChanges(from: before, to: new, merger: merger)
        changes.findChanges(in: affectedRows)
        return changes.list
    }

    static func between(_ old: RegistryRows, and new: RegistryRows, interval: WriteInterval)
        -> [RegistryChange]
    {
        var changes: [RegistryChange] = []
        var kept = 0
        for index in new.entries.indices {
            let known = old.index(of: new.entries[index].entry, near: index)
            let isSame = known.map {
                !mustWrite(new.entries[index].row, after: old.entries[$0].row, interval: interval)
            }
            if known != nil { kept += 1 }
            for lane in new.owners where isSame != true || !old.owners.contains(lane) {
                changes.append(
                    RegistryChange(key: new.key(at: index, of: lane), row: new.row(at: index, of: lane)))
            }
        }
        if kept < old.entries.count || old.owners != new.owners {
            appendTombstones(of: old, without: new, to: &changes)
        }
        return changes
    }

    private static func appendTombstones(
        of old: RegistryRows, without new: RegistryRows, to changes: inout [RegistryChange]
    ) {
        for lane in old.owners {
            let isKept = new.owners.contains { $0.recipient == lane.recipient }
            for index in old.entries.indices
            where !isKept || new.index(of: old.entries[index].entry, near: index) == nil {
                changes.append(RegistryChange(key: old.key(at: index, of: lane), row: nil))
            }
        }
    }

    private static func mustWrite(_ new: RegistryRow, after old: RegistryRow, interval grain: WriteInterval)
        -> Bool
    {
        switch (new, old) {
        case (.token(let new), .token(let old)): return mustWrite(new, after: old, interval: grain)
        case (.profile(let new), .profile(var old)):
            let updated = old.updatedAt
            old.updatedAt = new.updatedAt
            return new != old || !new.isSpelled(as: old)
                || WriteInterval.isBoundaryCrossed(
                    every: WriteInterval.heartbeatMilliseconds, from: updated, to: new.updatedAt)
        case (.token, .profile), (.profile, .token): return true
        }
    }

    static func mustWrite(_ new: TokenRow, after old: consuming TokenRow, interval grain: WriteInterval)
        -> Bool
    {
        let (registered, expires) = (old.registeredAt, old.expiresAt)
        old.registeredAt = new.registeredAt
        old.expiresAt = new.expiresAt
        if new != old || !new.isSpelled(as: old) || (new.expiresAt == nil) != (expires == nil) {
            return true
        }
        guard let next = new.expiresAt else {
            return WriteInterval.isBoundaryCrossed(
                every: WriteInterval.heartbeatMilliseconds, from: registered, to: new.registeredAt)
        }
        return WriteInterval.isBoundaryCrossed(
            every: grain.updateTokenMilliseconds, from: registered, to: new.registeredAt)
            || WriteInterval.isBoundaryCrossed(every: grain.updateTokenMilliseconds, from: expires, to: next)
    }
}

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
        tags.isExactlyEqual(to: old.tags) && locale.isExactlyEqual(to: old.locale)
            && timeZone.isExactlyEqual(to: old.timeZone)
            && os.isExactlyEqual(to: old.os) && appBuild.isExactlyEqual(to: old.appBuild)
    }
}
