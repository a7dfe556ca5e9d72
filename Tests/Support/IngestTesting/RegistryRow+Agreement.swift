package import Ingest
package import InstallationRecords

extension RegistryRow {
    /// Whether both rows are equal, apart from times within one write interval. A report that only repeats a value is
    /// written once per interval. If a process dies, its successor may write another repetition than the model.
    package func agrees(with other: RegistryRow, within interval: WriteInterval) -> Bool {
        switch (self, other) {
        case (.token(let token), .token(var otherToken)):
            // Only update tokens expire.
            let intervalMilliseconds =
                token.expiresAt == nil
                ? WriteInterval.heartbeatMilliseconds : interval.updateTokenMilliseconds
            let registrationDifference = abs(token.registeredAt - otherToken.registeredAt)
            let expiryDifference = abs((token.expiresAt ?? 0) - (otherToken.expiresAt ?? 0))
            if registrationDifference >= intervalMilliseconds { return false }
            if expiryDifference >= intervalMilliseconds { return false }
            (otherToken.registeredAt, otherToken.expiresAt) = (token.registeredAt, token.expiresAt)
            return token == otherToken
        case (.profile(let profile), .profile(var otherProfile)):
            let updateDifference = abs(profile.updatedAt - otherProfile.updatedAt)
            if updateDifference >= WriteInterval.heartbeatMilliseconds { return false }
            otherProfile.updatedAt = profile.updatedAt
            return profile == otherProfile
        case (.token, .profile), (.profile, .token): return false
        }
    }
}
