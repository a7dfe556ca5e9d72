package import Ingest
package import InstallationRecords

extension RegistryRow {
    /// Whether both rows are equal, apart from times within one write interval. Only the first repetition in
    /// an interval is always written. Which later ones are in a row depends on the processes that died.
    package func agrees(with other: RegistryRow, within interval: WriteInterval) -> Bool {
        switch (self, other) {
        case (.token(let a), .token(var b)):
            let milliseconds =
                a.expiresAt == nil ? WriteInterval.heartbeatMilliseconds : interval.updateTokenMilliseconds
            if abs(a.registeredAt - b.registeredAt) >= milliseconds { return false }
            if abs((a.expiresAt ?? 0) - (b.expiresAt ?? 0)) >= milliseconds { return false }
            (b.registeredAt, b.expiresAt) = (a.registeredAt, a.expiresAt)
            return a == b
        case (.profile(let a), .profile(var b)):
            if abs(a.updatedAt - b.updatedAt) >= WriteInterval.heartbeatMilliseconds { return false }
            b.updatedAt = a.updatedAt
            return a == b
        case (.token, .profile), (.profile, .token): return false
        }
    }
}
