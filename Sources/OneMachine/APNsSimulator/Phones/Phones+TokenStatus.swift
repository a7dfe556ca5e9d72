package import Identifiers

/// The status of a token at APNs, which is needed for each push. Times are milliseconds since 1970.
extension Phones: SimulatedPhones {
    /// Returns the status of a token. The token itself tells the phone, and whether it is a start token or an update
    /// token.
    package func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        guard let identity = tokens.identity(of: token), identity.phone < phones.count else {
            return .unknown
        }
        let phone = phones[identity.phone]
        guard self.environment(of: phone) == environment else { return .unknown }
        guard apps[Int(phone.app)].bundleID == bundleID else { return .wrongTopic }
        if phone.traits.contains(.removed) {
            return isStillAccepted(diedAt: phone.removedAt, at: time)
                ? .valid : .unregistered(since: phone.removedAt)
        }
        switch identity.kind {
        case .start: return startTokenStatus(of: identity, on: phone, at: time)
        case .update: return updateTokenStatus(of: identity, at: time)
        }
    }

    private func startTokenStatus(
        of identity: PhoneTokens.Identity, on phone: Phone, at time: Int64
    ) -> TokenStatus {
        guard identity.index < startTokenCount(of: apps[Int(phone.app)]), phone.system >= .pushToStart else {
            return .unknown
        }
        let token = startTokens[Int(phone.firstStartToken) + identity.index]
        if identity.generation == token.generation { return .valid }
        // Only the death of the newest dead generation is known. Older generations count as if they had died with it.
        let diedAt = token.replacedDiedAt
        if isStillAccepted(diedAt: diedAt, at: time) { return .valid }
        let diedWithApp = diedAt < token.registeredAt
        return diedWithApp ? .unregistered(since: diedAt) : .expired(since: diedAt)
    }

    private func updateTokenStatus(of identity: PhoneTokens.Identity, at time: Int64) -> TokenStatus {
        if identity.processNumber != processNumber {
            // An earlier process of this simulator, with the same seed, made the token. Its activities have been gone
            // since this process added its phones.
            guard let firstPhonesAddedAt else { preconditionFailure("the phone was added") }
            return isStillAccepted(diedAt: firstPhonesAddedAt, at: time)
                ? .valid : .unregistered(since: firstPhonesAddedAt)
        }
        guard identity.index < activities.count else { return .unknown }
        let activity = activities[identity.index]
        if activity.slotGeneration != identity.slotGeneration || activity.state == .free {
            // If the slot is in use again, the old token died before the new activity started.
            let since =
                activity.slotGeneration == identity.slotGeneration ? activity.changedAt : activity.startedAt
            return isStillAccepted(diedAt: since, at: time) ? .valid : .unregistered(since: since)
        }
        if identity.generation == activity.tokenGeneration { return .valid }
        let since = activity.tokenRegisteredAt
        return isStillAccepted(diedAt: since, at: time) ? .valid : .expired(since: since)
    }

    /// Whether APNs still accepts a dead token.
    private func isStillAccepted(diedAt deathTime: Int64, at time: Int64) -> Bool {
        time - deathTime < settings.deadTokenAcceptedMilliseconds
    }
}
