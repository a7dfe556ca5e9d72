internal import JSON
package import LiveActivity

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
        _ old: Installation?, _ new: Installation, touched: Touched, merge: Merge
    ) -> [RegistryChange] {
        let before = old ?? Installation(app: new.app, subject: new.subject)
        guard old == nil || before.staysUnderItsRecipient(as: new) else {
            return between(RegistryRows(of: old), RegistryRows(of: new), grain: merge.grain)
        }
        var changes = PresentChanges(from: before, to: new, merge: merge)
        changes.find(touched)
        return changes.list
    }

    static func between(_ old: RegistryRows, _ new: RegistryRows, grain: Grain) -> [RegistryChange] {
        var changes: [RegistryChange] = []
        var kept = 0
        for index in new.entries.indices {
            let known = old.index(of: new.entries[index].entry, near: index)
            let isSame = known.map { !isNews(new.entries[index].row, after: old.entries[$0].row, grain) }
            if known != nil { kept += 1 }
            for lane in new.lanes where isSame != true || !old.lanes.contains(lane) {
                changes.append(
                    RegistryChange(key: new.key(of: index, in: lane), row: new.row(index, in: lane)))
            }
        }
        if kept < old.entries.count || old.lanes != new.lanes {
            appendTombstones(of: old, without: new, to: &changes)
        }
        return changes
    }

    private static func appendTombstones(
        of old: RegistryRows, without new: RegistryRows, to changes: inout [RegistryChange]
    ) {
        for lane in old.lanes {
            let isKept = new.lanes.contains { $0.recipient == lane.recipient }
            for index in old.entries.indices
            where !isKept || new.index(of: old.entries[index].entry, near: index) == nil {
                changes.append(RegistryChange(key: old.key(of: index, in: lane), row: nil))
            }
        }
    }

    private static func isNews(_ new: RegistryRow, after old: RegistryRow, _ grain: Grain) -> Bool {
        switch (new, old) {
        case (.token(let new), .token(let old)): return isNews(new, after: old, grain)
        case (.profile(let new), .profile(var old)):
            let updated = old.updatedAt
            old.updatedAt = new.updatedAt
            return new != old || !new.isSpelled(as: old)
                || Grain.isCrossed(Grain.heartbeatMilliseconds, from: updated, to: new.updatedAt)
        case (.token, .profile), (.profile, .token): return true
        }
    }

    static func isNews(_ new: TokenRow, after old: consuming TokenRow, _ grain: Grain) -> Bool {
        let (registered, expires) = (old.registeredAt, old.expiresAt)
        old.registeredAt = new.registeredAt
        old.expiresAt = new.expiresAt
        if new != old || !new.isSpelled(as: old) || (new.expiresAt == nil) != (expires == nil) {
            return true
        }
        guard let next = new.expiresAt else {
            return Grain.isCrossed(Grain.heartbeatMilliseconds, from: registered, to: new.registeredAt)
        }
        return Grain.isCrossed(grain.updateMilliseconds, from: registered, to: new.registeredAt)
            || Grain.isCrossed(grain.updateMilliseconds, from: expires, to: next)
    }
}

extension TokenRow {
    fileprivate func isSpelled(as old: TokenRow) -> Bool {
        attributesType.isExactly(old.attributesType) && group.isExactly(old.group) && os.isExactly(old.os)
            && channel.isExactly(old.channel) && (exceptTypes ?? []).isExactly(old.exceptTypes ?? [])
    }
}

extension ProfileRow {
    fileprivate func isSpelled(as old: ProfileRow) -> Bool {
        tags.isExactly(old.tags) && locale.isExactly(old.locale) && timeZone.isExactly(old.timeZone)
            && os.isExactly(old.os) && appBuild.isExactly(old.appBuild)
    }
}
