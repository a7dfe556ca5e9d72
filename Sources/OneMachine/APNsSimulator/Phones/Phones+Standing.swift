internal import LiveActivity

// Standing of a token at APNs. Each push asks twice, so this must be fast.

extension Phones: SimulatedPhones {
    func standing(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStanding {
        guard let identity = tokens.identity(of: token), identity.phone < phones.count else {
            return .unknown
        }
        let phone = phones[identity.phone]
        guard self.environment(of: phone) == environment else { return .unknown }
        guard apps[Int(phone.app)].bundleID == bundleID else { return .ofAnotherTopic }
        if phone.traits.contains(.removed) {
            return isRemembered(phone.changesAt, at: time) ? .good : .gone(since: phone.changesAt)
        }
        switch identity.kind {
        case .start: return startStanding(of: identity, on: phone, at: time)
        case .update: return updateStanding(identity, time)
        }
    }

    private func startStanding(
        of identity: PhoneTokens.Identity, on phone: Phone, at time: Int64
    ) -> TokenStanding {
        guard identity.index < startTokenCount(apps[Int(phone.app)]), phone.system >= .pushToStart else {
            return .unknown
        }
        let token = startTokens[Int(phone.firstStartToken) + identity.index]
        if identity.generation == token.generation { return .good }
        if isRemembered(token.replacedDiedAt, at: time) { return .good }
        // A token that died before its replacement was registered died with the app.
        return token.replacedDiedAt < token.registeredAt
            ? .gone(since: token.replacedDiedAt) : .expired(since: token.replacedDiedAt)
    }

    private func updateStanding(_ identity: PhoneTokens.Identity, _ time: Int64) -> TokenStanding {
        if identity.run != run, let beganAt {
            return isRemembered(beganAt, at: time) ? .good : .gone(since: beganAt)
        }
        guard identity.index < activities.count else { return .unknown }
        let activity = activities[identity.index]
        if activity.life != identity.life || activity.state == .free {
            // If the slot is in use again, the old token died before the new activity started.
            let since = activity.life == identity.life ? activity.changedAt : activity.startedAt
            return isRemembered(since, at: time) ? .good : .gone(since: since)
        }
        if identity.generation == activity.generation { return .good }
        let since = activity.tokenRegisteredAt
        return isRemembered(since, at: time) ? .good : .expired(since: since)
    }

    /// Whether APNs still accepts a token that died at this time.
    private func isRemembered(_ since: Int64, at time: Int64) -> Bool {
        time - since < settings.deadTokenMilliseconds
    }
}
