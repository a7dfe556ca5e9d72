internal import Identifiers

// The status of a token at APNs. Each push to a token asks for it, so this must be fast. Times are milliseconds since
// 1970.

extension Phones: SimulatedPhones {
    /// Returns the status of a token. The token itself tells the phone, and whether it is a start token or an update
    /// token.
    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus {
        guard let identity = tokens.identity(of: token), identity.phone < phones.count else {
            return .unknown
        }
        let phone = phones[identity.phone]
        guard self.environment(of: phone) == environment else { return .unknown }
        guard apps[Int(phone.app)].bundleID == bundleID else { return .wrongTopic }
        if phone.traits.contains(.removed) {
            return isStillAccepted(diedAt: phone.changesAt, at: time)
                ? .valid : .unregistered(since: phone.changesAt)
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
        if isStillAccepted(diedAt: token.replacedDiedAt, at: time) { return .valid }
        // APNs answers Unregistered if the app was removed, and ExpiredToken if a new token replaced the old
        // one at once. In the first case the old token died before the new one was registered.
        return token.replacedDiedAt < token.registeredAt
            ? .unregistered(since: token.replacedDiedAt) : .expired(since: token.replacedDiedAt)
    }

    private func updateTokenStatus(of identity: PhoneTokens.Identity, at time: Int64) -> TokenStatus {
        // The activity of an earlier process is gone.
        if identity.processNumber != processNumber, let firstPhonesAddedAt {
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
