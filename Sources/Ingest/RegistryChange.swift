package import LiveActivity

/// A record for `registry`: a row, or its tombstone.
package struct RegistryChange: Sendable, Hashable {
    package var key: RegistryKey
    /// Nil is a tombstone.
    package var row: RegistryRow?

    package init(key: RegistryKey, row: RegistryRow?) {
        self.key = key
        self.row = row
    }

    /// What turns one set of rows into another. Rows that differ in nothing but times of one grain are
    /// the same.
    static func between(_ old: RegistryRows, _ new: RegistryRows, _ grain: Grain) -> [RegistryChange] {
        var changes: [RegistryChange] = []
        let known = old.index
        for (key, row) in new.list {
            if let place = known.find(key), !isNews(row, after: old.list[place].row, grain) { continue }
            changes.append(RegistryChange(key: key, row: row))
        }
        let kept = new.index
        for (key, _) in old.list where kept.find(key) == nil {
            changes.append(RegistryChange(key: key, row: nil))
        }
        return changes
    }

    private static func isNews(_ new: RegistryRow, after old: RegistryRow, _ grain: Grain) -> Bool {
        switch (new, old) {
        case (.token(let new), .token(var old)):
            let (registered, expires) = (old.registeredAt, old.expiresAt)
            old.registeredAt = new.registeredAt
            old.expiresAt = new.expiresAt
            if new != old || (new.expiresAt == nil) != (expires == nil) { return true }
            guard let next = new.expiresAt else {
                return Grain.isCrossed(Grain.heartbeatMilliseconds, from: registered, to: new.registeredAt)
            }
            return Grain.isCrossed(grain.updateMilliseconds, from: registered, to: new.registeredAt)
                || Grain.isCrossed(grain.updateMilliseconds, from: expires, to: next)
        case (.profile(let new), .profile(var old)):
            let updated = old.updatedAt
            old.updatedAt = new.updatedAt
            return new != old
                || Grain.isCrossed(Grain.heartbeatMilliseconds, from: updated, to: new.updatedAt)
        case (.token, .profile), (.profile, .token): return true
        }
    }
}
