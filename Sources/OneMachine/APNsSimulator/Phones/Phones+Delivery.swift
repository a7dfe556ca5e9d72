internal import LiveActivity

// Delivery of a push to a phone.

extension Phones {
    func deliver(_ push: AcceptedPush) {
        switch push.target {
        case .channel(let id): broadcast(push, on: id)
        case .token(let token):
            guard let identity = tokens.identity(of: token), identity.phone < phones.count else {
                return receptions.count(.deadToken)
            }
            arrive(push, identity)
        }
    }

    private func arrive(_ push: AcceptedPush, _ identity: PhoneTokens.Identity) {
        let number = identity.phone
        let traits = phones[number].traits
        if traits.contains(.removed) {
            note(push, on: number, .appRemoved, at: push.receivedAt)
        } else if traits.contains(.away) {
            note(push, on: number, store(push, for: number), at: push.receivedAt)
        } else {
            note(push, on: number, act(push, identity, at: push.receivedAt), at: push.receivedAt)
        }
    }

    /// Applies a push that has reached its installation and returns the effect.
    func act(_ push: AcceptedPush, _ identity: PhoneTokens.Identity, at time: Int64) -> PushEffect {
        switch identity.kind {
        case .start: return start(push, identity, at: time)
        case .update:
            guard identity.run == run, identity.index < activities.count else { return .noLongerShown }
            let activity = activities[identity.index]
            guard activity.life == identity.life, activity.state != .free else { return .noLongerShown }
            guard activity.generation == identity.generation else { return .deadToken }
            return update(push, identity.index, at: time)
        }
    }

    func note(_ push: AcceptedPush, on number: Int, _ effect: PushEffect, at time: Int64) {
        let event: UInt8 =
            switch push.payload.event {
            case .start: 0
            case .update: 1
            case .end: 2
            case nil: .max
            }
        receptions.add(
            .init(
                phone: Int32(number), effect: effect, event: event, priority: UInt8(clamping: push.priority),
                before: 0, problem: effect.undecodedPart == nil ? -1 : decoder.newestProblem,
                timestamp: push.payload.timestamp ?? 0, at: time, id: push.id), to: &phones[number])
    }

    // MARK: Away

    /// Stores a push for a phone that is away. Apple stores one push for a device and an app, "in most cases
    /// the latest". This simulator always stores the latest.
    private func store(_ push: AcceptedPush, for number: Int) -> PushEffect {
        if push.expiration == 0 { return .lostWhileAway }
        let key = Int32(number)
        if let older = stored[key] {
            note(older, on: number, .replacedInStore, at: push.receivedAt)
        } else if stored.count >= settings.storedMax {
            return .storeIsFull
        }
        stored[key] = push
        return .stored
    }

    /// Makes the phone reachable again. The stored push arrives, and the app sends the reports that it owes.
    func comeBack(_ number: Int, at time: Int64) {
        guard phones[number].traits.contains(.away) else { return }
        phones[number].traits.remove(.away)
        if let push = stored.removeValue(forKey: Int32(number)), case .token(let token) = push.target,
            let identity = tokens.identity(of: token)
        {
            let isExpired = push.expiration.map { milliseconds($0) <= time } ?? false
            note(push, on: number, isExpired ? .expiredInStore : act(push, identity, at: time), at: time)
        }
        for index in indices(of: number) {
            settle(index, at: time)
            if activities[index].state != .free { catchUp(index, at: time) }
        }
        reportWhatIsOwed(number, at: time)
    }

    /// Converts seconds to milliseconds. Extreme values saturate.
    func milliseconds(_ seconds: Int64) -> Int64 {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? (seconds < 0 ? .min : .max) : value
    }
}
