package import Ingest
package import LiveActivity

extension RegistryRow {
    /// Whether both say the same, but for times of one grain: of the repetitions of a grain only the first is
    /// written for its own sake, and which of the others a row knows of depends on who died when.
    package func agrees(with other: RegistryRow, _ grain: Grain) -> Bool {
        switch (self, other) {
        case (.token(let a), .token(var b)):
            let grain = a.expiresAt == nil ? Grain.heartbeatMilliseconds : grain.updateMilliseconds
            if abs(a.registeredAt - b.registeredAt) >= grain { return false }
            if abs((a.expiresAt ?? 0) - (b.expiresAt ?? 0)) >= grain { return false }
            (b.registeredAt, b.expiresAt) = (a.registeredAt, a.expiresAt)
            return a == b
        case (.profile(let a), .profile(var b)):
            if abs(a.updatedAt - b.updatedAt) >= Grain.heartbeatMilliseconds { return false }
            b.updatedAt = a.updatedAt
            return a == b
        case (.token, .profile), (.profile, .token): return false
        }
    }
}
