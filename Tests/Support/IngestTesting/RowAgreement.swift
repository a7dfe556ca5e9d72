package import Ingest
package import LiveActivity

extension RegistryRow {
    /// Whether both rows are equal, apart from times within one write interval. Only the first repetition in
    /// an interval is always written. Which later ones are in a row depends on the processes that died.
    package func agrees(with other: RegistryRow, _ grain: WriteInterval) -> Bool {
        switch (self, other) {
        case (.token(let a), .token(var b)):
            let grain =
                a.expiresAt == nil ? WriteInterval.heartbeatMilliseconds : grain.updateTokenMilliseconds
            if abs(a.registeredAt - b.registeredAt) >= grain { return false }
            if abs((a.expiresAt ?? 0) - (b.expiresAt ?? 0)) >= grain { return false }
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
